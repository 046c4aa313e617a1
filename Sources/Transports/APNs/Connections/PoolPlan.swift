import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import PipelineKit
import Signing
import Time

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
    let token: SharedToken?
    let tokenAge: Duration
    let credential: Credential
    /// What its apps are called at APNs. A connection has those that the plan had when it was opened.
    var topics: Set<String> = []

    /// `:authority`: with the port where it is not HTTPS's own (RFC 9113, section 8.3.1).
    var authority: String { port == 443 ? host : "\(host):\(port)" }
}

extension PoolPlan {
    var serverName: ServerName { ServerName(host, port, proxy: proxy) }

    func terms(_ surroundings: Surroundings) -> PoolState.Terms {
        PoolState.Terms(
            connections: connections, timeout: timeout, backoff: backoff, hasToken: token != nil, server: serverName,
            dialing: surroundings.dialing, asksOnce: surroundings.asksOnce)
    }

    /// Pools that differ in this have nothing to do with each other.
    struct Identity: Hashable {
        let host: String
        let port: Int
        let proxy: ProxyAddress?
        /// The team and key, or the app with the certificate.
        let credential: String
    }

    /// What a connection is opened with.
    struct Credential: Equatable {
        let signingKey: PublicKey?
        let certificates: [NIOSSLCertificate]
        let privateKey: NIOSSLPrivateKey?
        /// The certificates that are trusted instead of the system's.
        let trust: Data?
    }

    /// Whether connections of the former plan cannot carry what this one wants: another credential, or a bundle ID that
    /// is new, which APNs refuses on a connection that stands (Establishing a token-based connection to APNs).
    func needsOtherConnections(than former: PoolPlan) -> Bool {
        credential != former.credential || proxyAuthorization != former.proxyAuthorization
            || !topics.isSubset(of: former.topics)
    }
}

/// Clock and chance, from outside: tests have their own.
struct Surroundings: Sendable {
    var now: @Sendable () -> Instant
    /// From 0 to 1.
    var jitter: @Sendable () -> Double
    /// How long a window waits for its answers: what takes longer is asked for again.
    var patience: @Sendable () -> Duration = { .seconds(2) }
    var dialing = Dialing()
    /// Looks hosts up; nil: as the system does.
    var resolver: @Sendable (any EventLoop) -> (any Resolver & Sendable)? = { _ in nil }
    /// Whether the first connection that fails ends the window: somebody wants to know why.
    var asksOnce = false

    var moment: PoolState.Moment { PoolState.Moment(now: .now(), wall: now(), jitter: jitter) }
}
