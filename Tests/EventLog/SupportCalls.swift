import Glibc

func unlinkSucceeds(_ path: String) -> Bool { unlink(path) == 0 }
func processNumber() -> Int32 { getpid() }

func truncateSucceeds(_ path: String, to bytes: Int) -> Bool { truncate(path, off_t(bytes)) == 0 }
