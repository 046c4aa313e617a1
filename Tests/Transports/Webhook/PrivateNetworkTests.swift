import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import TransportWebhook

@Suite struct PrivateNetworkTests {
    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.1", "0x7f000001",
        "2130706433", "0177.0.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.192",
        "198.18.0.1", "224.0.0.1", "239.255.255.255", "255.255.255.255", "127.0.0.1.", "::", "::1", "fe80::1",
        "fe80::1%25eth0", "fd00:ec2::254", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
        "::10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001:db8::1",
    ])
    func `an address of a private or reserved network is not public`(text: String) throws {
        #expect(try #require(IPAddress(host: text)).isPublic == false)
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "128.0.0.1", "169.253.0.1",
        "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.0.1", "198.20.0.1",
        "223.255.255.255", "2606:4700::1111", "fb00::1", "fe00::1", "::ffff:1.1.1.1", "64:ff9b::101:101",
        "2002:101:101::",
    ])
    func `an address outside private and reserved networks is public`(text: String) throws {
        #expect(try #require(IPAddress(host: text)).isPublic)
    }

    @Test(arguments: [
        "http://127.0.0.1:8080/", "https://10.1.2.3/", "http://[::1]/", "http://[::ffff:7f00:1]/",
        "http://169.254.169.254/latest", "http://2130706433/", "http://localhost:80/", "http://hook.LOCALHOST./",
        "http://127.0.0.1./",
    ])
    func `a url that names a private network is refused with the remedy`(url: String) throws {
        let error = #expect(throws: PipelineFileError.self) { try webhookSettings("url: \"\(url)\"") }
        #expect(error?.first.keyPath == "url" && error?.first.line == 1)
        #expect(error?.first.reason.contains("is in a private network") == true)
        #expect(error?.first.hint?.contains("privateNetworks: allow") == true)
        #expect(try webhookSettings("url: \"\(url)\"\nprivateNetworks: allow").rules.allowsPrivateNetworks)
    }

    @Test(arguments: [
        "https://example.com/", "http://8.8.8.8/", "http://localhost.example.com/", "http://10.example.com/",
    ])
    func `a url that may be public is accepted`(url: String) throws {
        #expect(try webhookSettings("url: \"\(url)\"").rules.allowsPrivateNetworks == false)
    }

    @Test func `a host in a private network is refused when a request is sent`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        // The settings do not know to which address a name leads, so each request checks the address.
        let session = try HTTPSession(connections: 1)
        defer { session.close() }
        for host in ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1"] {
            let url = try #require(URL(string: "http://\(host):\(server.port)/pushes"))
            let failure = await #expect(throws: HTTPFailure.self) {
                try await session.post(HTTPRequest(url: url, headers: [], body: [], timeout: .seconds(5)))
            }
            guard case .refused(let address) = failure else {
                Issue.record("\(host): \(String(describing: failure))")
                continue
            }
            #expect(!address.isPublic)
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `the answer for a private address is final, names the setting and counts no attempt`() throws {
        let address = try #require(IPAddress(host: "10.0.0.7"))
        let result = Result<HTTPAnswer, HTTPFailure>.failure(.refused(address))
        #expect(!result.isRetriable)
        let id = push(1).id
        #expect(
            result.answer(to: id, timeout: .seconds(1))
                == TransportAnswer(
                    id, .failed, reason: "10.0.0.7 is in a private network; to allow this, set privateNetworks: allow",
                    attempts: 0))
    }

    @Test func `by default, a proxy in the environment's variables is not used`() async {
        await #expect(processExitsWith: .success) {
            let server = TestServer { _, _ in .status(200) }
            setenv("http_proxy", "http://127.0.0.1:\(server.port)", 1)
            let session = try HTTPSession(connections: 1)
            let url = try #require(URL(string: "http://10.255.255.1/pushes"))
            let failure = await #expect(throws: HTTPFailure.self) {
                try await session.post(HTTPRequest(url: url, headers: [], body: [], timeout: .seconds(5)))
            }
            #expect(failure == .refused(try #require(IPAddress(host: "10.255.255.1"))))
            #expect(server.requests.isEmpty)
        }
    }
}
