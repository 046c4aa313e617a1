import Glibc
import NIOCore
import PipelineKit

extension CourierSettings {
    /// Why the courier cannot listen, and what to do.
    ///
    /// - Parameter name: The name of the transport in the pipeline file.
    func failure(toListen error: any Error, as name: String) -> TransportError {
        let code = (error as? IOError)?.errnoCode
        let reason = code.map { String(cString: strerror($0)) } ?? "\(error)"
        let cause =
            code == EADDRINUSE
            ? "port in use: another process listens there (`ss -ltnp` shows which); stop it or choose"
            : "\(reason); choose"
        var failure = TransportError("transports.\(name).listen: \(address): \(cause) another `listen`")
        failure.isUnavailable = true
        return failure
    }
}
