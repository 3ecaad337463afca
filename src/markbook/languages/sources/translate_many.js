const given = fs.readFileSync(0);
const put = data => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(data.length);
  fs.writeSync(1, Buffer.concat([length, data]));
};
for (let at = 0; at < given.length;) {
  const length = given.readInt32BE(at);
  const text = given.toString('utf8', at + 4, at + 4 + length);
  at += 4 + length;
  try {
    const made = Buffer.from(translated(text));
    fs.writeSync(1, Buffer.from([70, 0, 0, 0, 1]));
    put(Buffer.from('main.js'));
    put(made);
  } catch (error) {  // such as one whose brackets are deeper than the compiler can follow
    fs.writeSync(1, Buffer.from('E'));
    put(Buffer.from(`error: ${error}`));
  }
}
