import Glibc

/// The calls that change a log's files, so that a test can make each of them fail.
package struct FileCalls: Sendable {
    package var write: @Sendable (CInt, UnsafePointer<iovec>, CInt, off_t) -> Int = { pwritev($0, $1, $2, $3) }
    package var sync: @Sendable (CInt) -> CInt = { fdatasync($0) }
    package var truncate: @Sendable (CInt, off_t) -> CInt = { ftruncate($0, $1) }
    package var rename: @Sendable (String, String) -> CInt = { Glibc.rename($0, $1) }

    package init() {}
}

/// Repeats a call that a signal interrupted.
func uninterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}
