import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import PipelineKit
import Signing
import Time

/// The settings that the connections of one pool share. APNs binds a connection to a team and a key, or to a
/// certificate (Apple, "Establishing a token-based connection to APNs").
struct PoolPlan: Sendable {
    let host: String
    let port: Int
    let proxy: ProxyAddress?
    /// The value of `Proxy-Authorization`; nil if the proxy needs no login.
    let proxyAuthorization: String?
    let tls: NIOSSLContext
    let connections: Int
    let timeout: Duration
    let backoff: Backoff
    /// The provider token; nil if the pool uses a certificate.
    let token: SharedToken?
    let tokenAge: Duration
    let credential: Credential
    /// The topics of the pool's apps. A connection accepts only the topics that the key had when the connection was
    /// opened.
    var topics: Set<String> = []

    /// The value of `:authority`, with the port unless it is 443 (RFC 9113, section 8.3.1).
    var authority: String {
        let name = ServerName.bracketed(host)
        return port == 443 ? name : "\(name):\(port)"
    }
}

extension PoolPlan {
    var serverName: ServerName { ServerName(host, port, proxy: proxy) }

    func options(_ surroundings: Surroundings) -> PoolState.Options {
        PoolState.Options(
            connections: connections, timeout: timeout, backoff: backoff, hasToken: token != nil, server: serverName,
            dialing: surroundings.dialing, failsFast: surroundings.failsFast)
    }

    /// Identifies a pool.
    struct Identity: Hashable {
        let host: String
        let port: Int
        let proxy: ProxyAddress?
        /// The name of the team and the key, or of the app that has the certificate.
        let credential: String
    }

    /// What a connection authenticates with, and the certificates that it trusts.
    struct Credential: Equatable {
        let signingKey: PublicKey?
        let certificates: [NIOSSLCertificate]
        let privateKey: NIOSSLPrivateKey?
        /// The contents of the PEM file with the certificates to trust; nil if the system's are trusted.
        let trust: Data?
    }

    /// Whether this plan needs new connections, because the credential or the proxy's login changed, or a topic is new.
    /// An open connection rejects new topics (Apple, "Establishing a token-based connection to APNs").
    func needsOtherConnections(than former: PoolPlan) -> Bool {
        credential != former.credential || proxyAuthorization != former.proxyAuthorization
            || !topics.isSubset(of: former.topics)
    }
}

/// The clock, the randomness, the waits and the DNS resolver. Tests replace them, and ``APNsProbe`` some of them.
struct Surroundings: Sendable {
    var now: @Sendable () -> Instant
    /// A random number from 0 to 1.
    var jitter: @Sendable () -> Double
    /// How long a pool waits for the answers to pushes that it took together, before it defers those without an answer.
    /// This wait is the window of these pushes.
    var windowLength: @Sendable () -> Duration = { .seconds(2) }
    var dialing = Dialing()
    /// Resolves host names; nil uses the system's resolver.
    var resolver: @Sendable (any EventLoop) -> (any Resolver & Sendable)? = { _ in nil }
    /// Whether a failed connection ends the windows of all pushes of its pool, so that the failure is reported at once.
    var failsFast = false

    var moment: PoolState.Moment { PoolState.Moment(now: .now(), wall: now(), jitter: jitter) }
}
