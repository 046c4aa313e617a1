import Glibc
import NIOCore

/// A server cannot listen at its address.
package struct ListenError: Error, CustomStringConvertible {
    let address: ListenAddress
    let cause: any Error

    /// What is wrong, and what to do.
    package var description: String {
        guard let code = (cause as? IOError)?.errnoCode else { return "\(address): \(cause); choose another `listen`" }
        let advice =
            code == EADDRINUSE
            ? "port in use: another process listens there (`ss -ltnp` shows which); stop it or choose"
            : "\(String(cString: strerror(code))); choose"
        return "\(address): \(advice) another `listen`"
    }
}
