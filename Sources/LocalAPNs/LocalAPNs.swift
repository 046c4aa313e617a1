import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// A server on this machine that behaves like APNs and is as strict. Scripts and commands of tests change its answers.
///
///     let apns = try await LocalAPNs.start(LocalAPNs.Configuration())
///     …
///     let accepted = await apns.requests.first { $0.status == 200 }
///     try await apns.control(#"{"clock":"+25m"}"#)
///     try await apns.stop()
package final class LocalAPNs: Sendable {
    /// The port on which the server listens.
    package let port: Int
    package let credentials: Credentials
    private let journal: Journal
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    private let server: NIOLoopBound<ServerState>

    private init(
        _ channel: any Channel, _ group: MultiThreadedEventLoopGroup, _ server: NIOLoopBound<ServerState>,
        _ journal: Journal, _ credentials: Credentials
    ) {
        port = channel.localAddress?.port ?? 0
        self.channel = channel
        self.group = group
        self.server = server
        self.journal = journal
        self.credentials = credentials
    }

    /// Makes missing keys and certificates, and starts to listen.
    ///
    /// - Throws: ``StartError``, or `SigningError` if the server's certificate cannot be made, for example because a
    ///   host name has characters that are not ASCII.
    package static func start(_ configuration: Configuration) async throws -> LocalAPNs {
        let credentials = try Credentials(configuration)
        let tls = try Listener.tls(
            credentials, names: ["localhost", "127.0.0.1", "::1", configuration.host] + configuration.names)
        let reader = CertificateReader(authorities: [credentials.authority.certificate])
        let journal = Journal(recordsKept: configuration.recordsKept, sink: configuration.onRecord)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let server = try await group.next().submit {
                NIOLoopBound(ServerState(service(configuration, credentials), journal), eventLoop: group.next())
            }.get()
            let channel = try await listen(configuration, group, server, tls, reader)
            return LocalAPNs(channel, group, server, journal, credentials)
        } catch {
            try await group.shutdownGracefully()
            throw StartError.address(
                host: configuration.host, port: configuration.port, reason: reason(error))
        }
    }

    private static func reason(_ error: any Error) -> String {
        (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
    }

    private static func service(_ configuration: Configuration, _ credentials: Credentials) -> Service {
        let own = SigningKey(
            id: credentials.keyID, team: credentials.team, publicKey: credentials.key.publicKey,
            environments: configuration.keyEnvironments, bundles: configuration.keyTopics)
        let registry = Registry(
            keys: [own] + configuration.keys, devices: configuration.devices, isStrict: configuration.isStrict)
        return Service(
            configuration.environment, registry: registry, script: configuration.script,
            streams: configuration.streams, clock: configuration.clock)
    }

    private static func listen(
        _ configuration: Configuration, _ group: MultiThreadedEventLoopGroup, _ server: NIOLoopBound<ServerState>,
        _ tls: NIOSSLContext, _ reader: CertificateReader
    ) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Listener(server: server.value, tls: tls, reader: reader).prepare(channel)
                }
            }
            .bind(host: configuration.host, port: configuration.port).get()
    }
}

extension LocalAPNs {
    /// The kept records: all of them, or only the newest (see ``Configuration/recordsKept``).
    package var records: [Record] { journal.records }

    /// The requests among the kept records.
    package var received: [RecordedRequest] { journal.records.compactMap(\.request) }

    /// How many requests the server has recorded since it started, including rejected requests.
    package var receivedCount: Int { journal.requestCount }

    /// The kept records, then all new records, until the server stops.
    package var events: AsyncStream<Record> { journal.listen() }

    /// The requests among the kept records, then all new requests, until the server stops.
    package var requests: AsyncCompactMapSequence<AsyncStream<Record>, RecordedRequest> {
        journal.listen().compactMap(\.request)
    }

    /// Milliseconds since 1970, by the server's clock.
    package func now() async throws -> Int64 {
        let server = server
        return try await group.next().submit { server.value.service.now }.get()
    }

    /// Carries out a command.
    ///
    /// - Parameter command: The text of a ``Command``, such as `{"clock":"+25m"}`.
    /// - Returns: A sentence for the user: what was done.
    /// - Throws: ``FieldError`` if the command is invalid, or names a key or connection that the server does not have.
    ///   The server then has not changed.
    @discardableResult
    package func control(_ command: String) async throws -> String {
        let command = try Command.read(command)
        let server = server
        return try await group.next().submit { try server.value.perform(command) }.get()
    }

    /// Closes all connections. Then ends ``events`` and ``requests``, after their last records.
    package func stop() async throws {
        let server = server
        try await channel.close()
        _ = try await group.next().submit { try server.value.perform(.drop) }.get()
        try await group.shutdownGracefully()
        journal.end()
    }
}
