import Foundation
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.enabled(if: TestCertificates.isPossible, "needs \(Python.program) and openssl"), .timeLimit(.minutes(5)))
struct TLSTests {
    private let certificates: TestCertificates

    init() throws {
        certificates = try TestCertificates()
        try certificates.make(commonName: "one")
    }

    private func readCertificate() throws -> ServerCertificate {
        let (certificate, key) = (URL(filePath: certificates.certificate), URL(filePath: certificates.key))
        return try ServerCertificate(
            certificate: Array(Data(contentsOf: certificate)), key: Array(Data(contentsOf: key)))
    }

    private func rig(_ change: (inout WebServerOptions) -> Void = { _ in }) async throws -> ServerRig {
        try await ServerRig { options in
            options.certificate = try readCertificate()
            change(&options)
        }
    }

    /// What curl prints: the body, the HTTP version and the status. Without an answer, the last two are `0 000`.
    private func curl(_ rig: ServerRig, _ target: String, _ options: String...) async throws -> String {
        let url = "https://127.0.0.1:\(rig.server.port)\(target)"
        let fixed = ["--silent", "--max-time", "60", "--write-out", " %{http_version} %{http_code}"]
        let trust = ["--cacert", certificates.certificate]
        return await (try TestProgram("/usr/bin/curl", fixed + trust + options + [url])).standardOutput()
    }

    @Test func `clients choose HTTP 2 or HTTP 1, but not TLS 1.1`() async throws {
        let rig = try await rig()
        #expect(try await curl(rig, "/", "--http2", "--data", "hello") == "hello 2 200")
        #expect(try await curl(rig, "/", "--http1.1", "--data", "hello") == "hello 1.1 200")
        #expect(try await curl(rig, "/", "--http2", "--head").hasSuffix(" 2 200"))
        #expect(try await curl(rig, "/", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0") == " 0 000")
        #expect(rig.requests.withLock { $0.map(\.client) } == ["127.0.0.1", "127.0.0.1", "127.0.0.1"])
        try await rig.stop()
    }

    @Test func `limits hold for HTTP 2 too`() async throws {
        let rig = try await rig { options in
            options.limits.bodyBytesMax = 100
            options.limits.targetBytesMax = 100
            (options.limits.heldBodyBytesMax, options.limits.limitsEachClient) = (90, false)
        }
        let long = String(repeating: "x", count: 101)
        #expect(try await curl(rig, "/", "--http2", "--data", long) == " 2 413")
        #expect(try await curl(rig, "/", "--http2", "--data", String(long.prefix(91))) == " 2 503")
        #expect(try await curl(rig, "/" + long, "--http2") == " 2 414")
        try await rig.stop()
    }

    @Test func `an answer over HTTP 2 is complete, and so is its log entry`() async throws {
        let rig = try await rig()
        let text = try await curl(rig, "/big", "--http2")
        #expect(text.utf8.count == ServerRig.big.count + " 2 200".utf8.count && text.hasSuffix(" 2 200"))
        let entry = try await rig.log.next()
        #expect(entry.isComplete && entry.bodyBytes == ServerRig.big.count && entry.path == "/big")
        try await rig.stop()
    }

    @Test(arguments: ["--http2", "--http1.1"])
    func `a waiting request is notified when its client disconnects`(version: String) async throws {
        let rig = try await rig()
        let url = "https://127.0.0.1:\(rig.server.port)/held"
        let client = try TestProgram("/usr/bin/curl", ["--insecure", version, url])
        let held = try await rig.heldRequests.next()
        let gone = ValueRecorder<Bool>()
        held.request.whenClientIsGone { gone.add(true) }
        client.kill()
        #expect(try await gone.next())
        #expect(try await !rig.log.next().isComplete)
        try await rig.stop()
    }

    @Test func `a request whose stream is reset inside its body is not handled`() async throws {
        let rig = try await rig()
        let client = try TestProgram(Python.program, ["-c", Self.resetting, "\(rig.server.port)"])
        #expect(await client.standardOutput() == "answered\n")
        #expect(try await rig.log.next().status == nil)
        try await rig.stop()
        #expect(rig.requests.withLock { $0.map(\.method) } == [.get])
    }

    /// HTTP/2 by hand: half a POST on stream 1, its reset, and a GET on stream 3.
    private static let resetting = """
        import socket, ssl, sys
        context = ssl._create_unverified_context()
        context.set_alpn_protocols(["h2"])
        secure = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
        def frame(kind, flags, stream, body):
            return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body
        def headers(stream, method, flags):
            return frame(1, flags, stream, bytes([method, 0x84, 0x87, 0x01, 1]) + b"x")
        secure.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + frame(4, 0, 0, b""))
        secure.sendall(headers(1, 0x83, 4) + frame(0, 0, 1, b"half"))
        secure.sendall(frame(3, 0, 1, (8).to_bytes(4, "big")) + headers(3, 0x82, 5))
        received = b""
        while piece := secure.recv(65536):
            received += piece
            while len(received) >= 9 and len(received) >= 9 + int.from_bytes(received[:3], "big"):
                kind, stream = received[3], int.from_bytes(received[5:9], "big")
                received = received[9 + int.from_bytes(received[:3], "big"):]
                if (kind, stream) == (1, 3):
                    print("answered")
                    sys.exit()
        """

    @Test func `a graceful stop answers requests in progress over HTTP 2`() async throws {
        let rig = try await rig()
        async let answer = curl(rig, "/held", "--http2")
        let held = try await rig.heldRequests.next()
        async let stopped: Void = rig.stop()
        while (try? rig.connect()) != nil { await Task.yield() }
        held.end("done")
        let text = try await answer
        #expect(text == "done 2 200")
        try await stopped
    }

    @Test
    func `new connections get the new certificate, and a certificate is refused if the key does not belong to it`()
        async throws
    {
        let rig = try await rig()
        #expect(try await curl(rig, "/").hasSuffix(" 2 200"))
        try certificates.make(commonName: "two")
        #expect(try await curl(rig, "/") == " 0 000")
        rig.server.use(try readCertificate())
        #expect(try await curl(rig, "/").hasSuffix(" 2 200"))
        try certificates.make(commonName: "three", key: "other.pem")
        #expect(throws: (any Error).self) { try readCertificate() }
        try await rig.stop()
    }

    @Test func `a client that does not finish the handshake in time is disconnected`() async throws {
        let rig = try await rig { $0.limits.requestWait = .milliseconds(100) }
        #expect(await (try rig.connect()).rest() == "")
        let plain = try rig.connect()
        plain.get("/")
        #expect(await !plain.rest().contains("HTTP"))
        try await rig.stop()
    }
}
