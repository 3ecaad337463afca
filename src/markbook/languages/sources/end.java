{
  var markbookHeld = "{nonce}"; var markbookThrew = true;
  markbookClaim: try { {claim} markbookThrew = false; } finally { break markbookClaim; }
  markbookSame: try { if (markbookThrew{same}) markbookHeld = "{token}"; } finally { break markbookSame; }
  markbookTalk: try {
    var markbookText = "".getClass(); var markbookBytes = new byte[0].getClass();
    var markbookFile = markbookText.forName("java.io.FileDescriptor");
    var markbookIn = markbookText.forName("java.io.FileInputStream").getConstructor(markbookFile)
      .newInstance(markbookFile.getField("in").get(null));
    var markbookSaid = new byte[32];
    markbookIn.getClass().getMethod("read", markbookBytes).invoke(markbookIn, markbookSaid);
    var markbookOut = markbookText.forName("java.io.FileOutputStream").getConstructor(markbookFile)
      .newInstance(markbookFile.getField("out").get(null));
    markbookOut.getClass().getMethod("write", markbookBytes).invoke(markbookOut, "\n".concat(markbookHeld)
      .concat(markbookText.getConstructor(markbookBytes).newInstance(markbookSaid)).concat("\n").getBytes());
  } finally { break markbookTalk; }
}
