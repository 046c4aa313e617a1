import PipelineKit
import TestSupport
import Testing

@testable import TransportCourier

@Suite struct RequestTests {
    private static let token = String(repeating: "a", count: 64)

    @Test(arguments: [
        ("/", "GET", "", 404, "path.unknown"),
        ("/courier/\(token)/other", "GET", "", 404, "path.unknown"),
        ("/courier/short", "GET", "", 403, "token.unknown"),
        ("/courier/\(token)", "DELETE", "", 405, "method.wrong"),
        ("/courier/\(token)/notifications", "POST", "", 405, "method.wrong"),
        ("/courier/\(token)/notifications?since=x", "GET", "", 400, "since.malformed"),
        ("/courier/\(token)/notifications?limit=0", "GET", "", 400, "limit.malformed"),
        ("/courier/\(token)/notifications?after=1", "GET", "", 400, "query.unknown"),
        ("/courier/\(token)/notifications", "GET", "", 403, "token.unknown"),
        ("/courier/\(token)/read", "GET", "", 405, "method.wrong"),
        ("/courier/\(token)/read", "POST", "{", 400, "body.malformed"),
        ("/courier/\(token)/read", "POST", #"{"notificationIDs":[1]}"#, 400, "body.malformed"),
        ("/courier/\(token)/read", "POST", String(repeating: " ", count: 70_000), 413, "body.too_long"),
        (
            "/courier/\(token)/notifications?since=\(String(repeating: "1", count: 1100))", "GET", "", 414,
            "path.too_long"
        ),
    ])
    func `a bad request is answered with its status and error code`(
        path: String, method: String, body: String, status: Int, code: String
    ) async throws {
        let rig = try await CourierRig()
        let reply = try await rig.send(path, method, body: body.isEmpty ? nil : body)
        #expect(reply.status == status)
        #expect(reply.body.hasPrefix(#"{"error":"\#(code)","reason":""#), "\(reply.body)")
        try await rig.stop()
    }

    @Test func `a client that does not read its answer delays no other client`() async throws {
        let rig = try await CourierRig()
        let mac = Device("mac")
        try rig.register(mac)
        let long = #"{"aps":{"alert":"\#(String(repeating: "x", count: 1_000_000))"},"ck":{}}"#
        try await rig.deliver(rig.push("long", to: mac, unpruned: long))
        let slow = try (0..<CourierLimits.pagesMax + 1).map { _ in try RawClient(port: rig.transport.port) }
        for client in slow { client.send("GET /courier/\(mac.token)/notifications HTTP/1.1\r\nhost: x\r\n\r\n") }
        #expect(try await rig.deliver(rig.push("next", to: mac)).map(\.outcome) == [.accepted])
        #expect(try await rig.poll(mac).body.contains("long"))
        #expect(try await rig.poll(mac).body.contains("next"))
        try await rig.stop()
        withExtendedLifetime(slow) {}
    }

    /// RFC 9112, section 9.3.2: Pipelining.
    @Test func `requests that come together are answered in their order`() async throws {
        let rig = try await CourierRig()
        let mac = Device("mac")
        try rig.register(mac)
        try await rig.deliver(rig.push("here", to: mac))
        let client = try RawClient(port: rig.transport.port)
        let targets = ["/courier/\(mac.token)/notifications", "/other", "/courier/short"]
        let requests = (0..<9).map { "GET \(targets[$0 % 3]) HTTP/1.1\r\nhost: x\r\n\r\n" }
        client.send(requests.joined())
        let statuses = await client.statuses(requests.count)
        #expect(statuses == (0..<9).map { [200, 404, 403][$0 % 3] })
        try await rig.stop()
    }

    /// `nc -N` closes its sending side in this way.
    @Test func `a client that has closed its sending side still gets its answer`() async throws {
        let rig = try await CourierRig()
        let mac = Device("mac")
        try rig.register(mac)
        for number in 1...20 { try await rig.deliver(rig.push("r\(number)", to: mac)) }
        for number in 1...20 {
            let client = try RawClient(port: rig.transport.port)
            client.send("GET /courier/\(mac.token) HTTP/1.1\r\nhost: x\r\n\r\n")
            client.closeSending()
            #expect(await client.rest().contains("r\(number)\""), "\(number)")
        }
        try await rig.stop()
    }

    @Test func `a waiting poll ends without a notification when its client closes its sending side`() async throws {
        let rig = try await CourierRig()
        let mac = Device("mac")
        try rig.register(mac)
        let client = try RawClient(port: rig.transport.port)
        client.send("GET /courier/\(mac.token) HTTP/1.1\r\nhost: x\r\n\r\n")
        client.closeSending()
        let rest = await client.rest()
        #expect(rest.hasPrefix("HTTP/1.1 200 ") && rest.lowercased().contains("content-length: 0\r\n"), "\(rest)")
        try await rig.deliver(rig.push("late", to: mac))
        #expect(try await rig.poll(mac).body.contains("late"))
        try await rig.stop()
    }

    /// RFC 9110, sections 9.3.2 and 10.1.1; RFC 9112, section 3.2.2.
    @Test func `the answer to HEAD has no body, Expect is answered, and a target may be absolute`() async throws {
        let rig = try await CourierRig()
        let client = try RawClient(port: rig.transport.port)
        client.send("HEAD /courier/\(Self.token) HTTP/1.1\r\nhost: x\r\n\r\n")
        client.send("GET http://x/courier/short HTTP/1.1\r\nhost: x\r\n\r\n")
        client.send(
            "POST /courier/\(Self.token)/read HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n{"
        )
        let text = await client.answers(4)
        #expect(RawClient.statuses(in: text) == [405, 403, 100, 400])
        #expect(!text.contains("method.wrong"), "HEAD got a body: \(text)")
        try await rig.stop()
    }

    @Test func `the answer to a preflight request allows only the listed origins`() async throws {
        let rig = try await CourierRig("origins: [\"https://app.example.com\"]")
        for (origin, allowed) in [
            ("https://app.example.com", "https://app.example.com"), ("https://evil.example", nil),
        ] {
            let reply = try await rig.send("/courier/\(Self.token)/read", "OPTIONS", headers: ["Origin": origin])
            #expect(reply.status == 204)
            #expect(reply.http.value(forHTTPHeaderField: "Access-Control-Allow-Origin") == allowed)
        }
        try await rig.stop()
    }

    @Test(arguments: [
        "listen: here", "origins: [app.example.com]", "origins: [\"https://a/b\"]", "keep: 1s", "port: 1",
        "listen: 0.0.0.0:7480", "listen: 127.0.0.1.example.com:7480", "listen: \"[2001:db8::1]:7480\"",
        "listen: 10.0.0.1:7480\nbehindTLS: false",
    ])
    func `invalid settings are refused`(text: String) {
        #expect(throws: PipelineFileError.self) {
            try SettingsReader(text: text, file: "p.yaml").decode(CourierSettings.self)
        }
    }

    @Test(arguments: ["0.0.0.0:7480\nbehindTLS: true", "127.0.0.1:7480", "\"[::1]:7480\"", "localhost:7480"])
    func `a local address, or a proxy with TLS, makes a certificate unnecessary`(listen: String) throws {
        let settings = try SettingsReader(text: "listen: \(listen)", file: "p.yaml").decode(CourierSettings.self)
        #expect(settings.address.port == 7480)
    }

    @Test func `a port in use is reported with the remedy`() async throws {
        let rig = try await CourierRig()
        let port = try #require(try rig.transport.port)
        let settings = try SettingsReader(
            text: "listen: 127.0.0.1:\(port)\nstore: s.sqlite", file: rig.folder.file("p.yaml"))
        let other = try CourierTransport(
            settings.decode(CourierSettings.self), context: TransportContext(name: "courier") { _ in })
        let error = await #expect(throws: TransportError.self) { try await other.open() }
        #expect(
            error?.reason == "transports.courier.listen: 127.0.0.1:\(port): port in use: another process listens there "
                + "(`ss -ltnp` shows which); stop it or choose another `listen`")
        #expect(error?.isUnavailable == true)
        try await rig.stop()
    }
}
