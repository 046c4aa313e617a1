import Foundation
import LocalAPNs
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import TransportAPNs

/// Tests a host with two addresses. No connection can be opened to the first address.
@Suite(.timeLimit(.minutes(1))) struct SeveralAddresses {
    @Test func `a push arrives although the host's first address refuses connections`() async throws {
        try await expectAccepted { port in [try SocketAddress(ipAddress: "127.0.0.2", port: port)] }
    }

    @Test func `a push arrives although nobody answers at the host's first address`() async throws {
        var sockets: [CInt] = []
        defer { for socket in sockets { close(socket) } }
        try await expectAccepted { port in
            sockets = try Self.fullListener(at: "127.0.0.2", port)
            return [try SocketAddress(ipAddress: "127.0.0.2", port: port)]
        }
    }

    /// - Parameter first: Gets the server's port. Returns the addresses that the host has before the server's address.
    private func expectAccepted(addressesBefore first: (Int) throws -> [SocketAddress]) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apns-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = LocalAPNs.Configuration()
        (configuration.port, configuration.folder) = (0, folder)
        let apns = try await LocalAPNs.start(configuration)
        let addresses = try first(apns.port) + [SocketAddress(ipAddress: "127.0.0.1", port: apns.port)]
        let transport = try APNsRig.transport(to: apns.port, in: folder, dialing: .never) { loop in
            FixedResolver(addresses, loop)
        }
        try await transport.open()
        #expect(await transport.deliver([apnsPush(1)])[0].outcome == .accepted)
        await transport.close()
        try await apns.stop()
    }

    /// Makes a listener and fills its queue, so that the system drops further connections.
    ///
    /// - Returns: The socket of the listener, and the sockets that fill its queue.
    private static func fullListener(at host: String, _ port: Int) throws -> [CInt] {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        func withAddress(_ call: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
            withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    call($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let listener = socket(AF_INET, kind, 0)
        #expect(withAddress { bind(listener, $0, $1) } == 0)
        #expect(listen(listener, 0) == 0)
        return [listener]
            + (1...4).map { _ in
                let caller = socket(AF_INET, kind, 0)
                _ = withAddress { connect(caller, $0, $1) }
                return caller
            }
    }
}

/// Gives every host the same addresses.
private struct FixedResolver: Resolver, Sendable {
    private let addresses: [SocketAddress]
    private let loop: any EventLoop

    init(_ addresses: [SocketAddress], _ loop: any EventLoop) { (self.addresses, self.loop) = (addresses, loop) }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses)
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { loop.makeSucceededFuture([]) }

    func cancelQueries() {}
}
