import EventLog
import NIOCore
import NIOSSL
import PipelineKit

/// What connections have in common that may carry each other's pushes: APNs binds a connection to a team and a key, or
/// to a certificate (Establishing a token-based connection to APNs).
struct PoolPlan: Sendable {
    let host: String
    let port: Int
    let proxy: ProxyAddress?
    /// What the proxy knows us by, as `Proxy-Authorization` has it.
    let proxyAuthorization: String?
    let tls: NIOSSLContext
    let connections: Int
    let timeout: Duration
    let backoff: Backoff
    /// Nil with a certificate.
    let key: SigningKey?
    let tokenAge: Duration
    /// Where the token is kept across restarts.
    let tokenFile: String?

    /// `:authority`: with the port where it is not HTTPS's own (RFC 9113, section 8.3.1).
    var authority: String { port == 443 ? host : "\(host):\(port)" }
}

/// Clock and chance, from outside: tests have their own.
struct Surroundings: Sendable {
    var now: @Sendable () -> Instant
    /// From 0 to 1.
    var jitter: @Sendable () -> Double
    /// How long a window waits for its answers: what takes longer is asked for again.
    var patience: @Sendable () -> Duration = { .seconds(2) }
    /// Whether the first connection that fails ends the window: somebody wants to know why.
    var asksOnce = false
}
