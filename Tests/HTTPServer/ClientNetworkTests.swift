import NIOCore
import Testing

@testable import HTTPServer

@Suite struct ClientNetworkTests {
    @Test func `a client is an IPv4 address or an IPv6 network`() throws {
        func network(_ text: String) throws -> ClientNetwork? {
            ClientNetwork(try SocketAddress(ipAddress: text, port: 1))
        }
        #expect(try network("192.0.2.1") == network("::ffff:192.0.2.1"))
        #expect(try network("192.0.2.1") != network("192.0.2.2"))
        #expect(try network("2001:db8::1") == network("2001:db8::2:3:4:5"))
        #expect(try network("2001:db8::1") != network("2001:db8:0:1::1"))
        #expect(ClientNetwork(try SocketAddress(unixDomainSocketPath: "/socket")) == nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("2001:db8::1", "2001:db8::ffff:1", true),
        ("2001:db8::1", "2001:DB8:0:0:9::", true), ("2001:db8::1", "2001:db8:0:1::1", false),
        ("::ffff:192.0.2.1", "192.0.2.1", true), ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
        ("192.0.2.1:80", "192.0.2.1:81", true), ("192.0.2.1:80", "192.0.2.2:80", false),
        ("[2001:db8::1]:80", "2001:db8::1", true), ("[2001:db8::1]", "[2001:db8:0:1::1]", false),
        ("unix", "unix", true), ("unix", "", false), ("unix", "117.110.105.120", false), ("text u", "u", false),
    ])
    func `an IPv6 network counts as one client, and so does an IPv4 address in both its forms, with or without a port`(
        left: String, right: String, isSame: Bool
    ) {
        #expect((ClientNetwork(left) == ClientNetwork(right)) == isSame)
        #expect((ClientNetwork(left).key == ClientNetwork(right).key) == isSame)
    }
}
