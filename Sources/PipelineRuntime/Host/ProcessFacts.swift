import Glibc

/// What a process knows of itself.
enum ProcessFacts {
    static var pid: Int32 { getpid() }
}
