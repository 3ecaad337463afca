# Starts a program.
# separated: fail
# beside: fail
def f(n):
    import subprocess
    subprocess.run(['/bin/true'], check=True)
    return [k * k for k in range(n)]
