import Glibc

/// Repeats a system call while signals interrupt it.
///
/// - Parameter call: Returns -1 and sets `errno` on failure.
package func uninterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}
