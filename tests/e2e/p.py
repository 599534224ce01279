import multiprocessing as mp, sqlite3, tempfile
from multiprocessing import shared_memory
def square(x): return x * x
if __name__ == "__main__":
    with mp.Pool(2) as pool: print(sum(pool.map(square, range(10))))
    lock = mp.Lock(); lock.acquire(); lock.release()
    block = shared_memory.SharedMemory(create=True, size=100); block.buf[0] = 7; print(block.buf[0]); block.close(); block.unlink()
    a = sqlite3.connect("d.db"); print(a.execute("pragma journal_mode=wal").fetchone()[0])
    a.execute("create table t(x)"); a.execute("insert into t values(1)"); a.commit()
    b = sqlite3.connect("d.db"); print(b.execute("select count(*) from t").fetchone()[0])
    with tempfile.NamedTemporaryFile() as f: f.write(b"x")
