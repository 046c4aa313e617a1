import Foundation
import PipelineKit
import Synchronization
import TestSupport
import Testing
import Time

@testable import TransportCourier

@Suite(.enabled(if: TestCertificates.isPossible, "needs \(Python.program) and openssl"), .timeLimit(.minutes(5)))
struct CourierTLSTests {
    private static let secondsPerDay: Int64 = 86_400

    private static func rig(_ certificates: TestCertificates) async throws -> CourierRig {
        try await CourierRig("certificate: \(certificates.certificate)\nkey: {$file: \(certificates.key)}\n")
    }

    @Test func `clients that trust the certificate are answered over TLS from version 1.2 on`() async throws {
        let certificates = try TestCertificates()
        try certificates.make(commonName: "one")
        let rig = try await Self.rig(certificates)
        let mac = Device("mac")
        try rig.register(mac)
        try await rig.deliver(rig.push("here", to: mac))
        let client = Client(port: try #require(try rig.transport.port), trust: certificates.certificate)
        let answer = try await client.get("/courier/\(mac.token)")
        #expect(
            answer.hasPrefix("TLSv1.3 one\nHTTP/1.1 200 OK\r\n") && answer.hasSuffix(#"{"nid":"n-here"}}"#), "\(answer)"
        )
        let inbox = "/courier/\(mac.token)/notifications"
        #expect(try await client.get(inbox, version: "TLSv1_2").hasPrefix("TLSv1.2 one\nHTTP/1.1 200 OK\r\n"))
        for version in ["TLSv1", "TLSv1_1"] {
            let refused = try await client.get(inbox, version: version)
            #expect(refused.hasPrefix("SSLError "), "\(version): \(refused)")
        }
        try await rig.stop()
    }

    @Test func `a client without TLS gets no answer`() async throws {
        let certificates = try TestCertificates()
        try certificates.make(commonName: "one")
        let rig = try await Self.rig(certificates)
        await #expect(throws: (any Error).self) { try await rig.send("/courier/\(Device("mac").token)") }
        try await rig.stop()
    }

    @Test func `after a reload, new connections get the renewed certificate and waiting polls continue`() async throws {
        let certificates = try TestCertificates()
        try certificates.make(commonName: "one")
        let rig = try await Self.rig(certificates)
        let mac = Device("mac")
        try rig.register(mac)
        let client = Client(port: try #require(try rig.transport.port), trust: certificates.certificate)
        let poll = try client.start("/courier/\(mac.token)")
        try await rig.waitForPolls(1)
        let same = try #require(try await rig.transport.change(to: rig.decoded()))
        #expect(same.descriptions == [])
        try certificates.make(commonName: "two")
        let change = try #require(try await rig.transport.change(to: rig.decoded()))
        #expect(change.descriptions == ["uses another certificate"])
        await change.apply()
        #expect(
            try await client.get("/courier/\(mac.token)/notifications").hasPrefix("TLSv1.3 two\nHTTP/1.1 200 OK\r\n"))
        try await rig.deliver(rig.push("late", to: mac))
        #expect(await poll.standardOutput().hasPrefix("TLSv1.3 one\nHTTP/1.1 200 OK\r\n"))
        try await rig.stop()
    }

    @Test func `a certificate or key that cannot be used is refused, and the running courier continues`() async throws {
        let certificates = try TestCertificates()
        try certificates.make(commonName: "one")
        let rig = try await Self.rig(certificates)
        try certificates.make(commonName: "two", key: "other.pem")
        let unfit = try await #require(throws: TransportError.self) {
            _ = try await rig.transport.change(to: rig.decoded())
        }
        #expect(unfit.reason.contains("is not the key of \(certificates.certificate)") && unfit.isOfConfiguration)
        #expect(try rig.decoded().secretErrors().map { "\($0)" } == [unfit.reason])
        for (name, said) in [("cert.pem", "certificate: \(certificates.certificate) "), ("key.pem", "no private key")] {
            let text = try String(contentsOfFile: certificates.folder.file(name), encoding: .utf8)
            chmod(try certificates.folder.write("nothing", to: name), 0o600)
            let error = try await #require(throws: TransportError.self) {
                _ = try await rig.transport.change(to: rig.decoded())
            }
            #expect(error.reason.contains(said), "\(error)")
            chmod(try certificates.folder.write(text, to: name), 0o600)
        }
        try certificates.make(commonName: "one")
        let client = Client(port: try #require(try rig.transport.port), trust: certificates.certificate)
        #expect(
            try await client.get("/courier/\(Device("mac").token)/notifications", checksCertificate: false)
                .hasPrefix("TLSv1.3 "))
        try await rig.stop()
    }

    @Test func `the operator gets a message before the certificate expires`() async throws {
        let certificates = try TestCertificates()
        try certificates.make(commonName: "one", days: 12)
        let settings = try certificates.settings()
        let now = Instant.wall()
        #expect(settings.endingCertificates(at: now.advanced(by: .seconds(-20 * Self.secondsPerDay))).isEmpty)
        let found = try #require(settings.endingCertificates(at: now).first)
        #expect(found.key == "certificate" && found.app == nil && !found.hasExpired)
        #expect(found.text.hasPrefix("the certificate \(certificates.certificate) expires on "))
        let over = try #require(
            settings.endingCertificates(at: now.advanced(by: .seconds(13 * Self.secondsPerDay))).first)
        #expect(over.hasExpired && over.text.hasSuffix(": clients do not trust the courier"))
        let messages = Mutex<[String]>([])
        var context = TransportContext(name: "courier", folder: certificates.folder.path, sync: .never) { _ in }
        context.tell = { line in messages.withLock { $0.append(line) } }
        let transport = CourierTransport(settings, context: context, now: { now })
        try await transport.open()
        _ = await transport.deliver([])
        #expect(messages.withLock { $0.count } == 1)
        #expect(messages.withLock { $0.first?.hasPrefix("courier: the certificate ") } == true)
        await transport.close()
    }

    @Test func `a certificate and its key allow an address that other machines can reach, and one alone is refused`()
        throws
    {
        func settings(_ text: String) throws -> CourierSettings {
            try SettingsReader(text: text, file: "p.yaml").decode(CourierSettings.self)
        }
        let both = try settings("listen: 0.0.0.0:7480\ncertificate: c.pem\nkey: {$file: k.pem}")
        #expect(both.tls?.certificate == "./c.pem" || both.tls?.certificate == "c.pem")
        for (text, said) in [
            ("certificate: c.pem", "key: required"), ("key: {$file: k.pem}", "add `certificate`"),
            ("certificate: c.pem\nkey: k.pem", "write {$file: PATH}"),
        ] {
            let error = try #require(throws: PipelineFileError.self) { try settings("listen: 0.0.0.0:7480\n" + text) }
            #expect(error.description.contains(said) && !error.description.contains("behindTLS"), "\(error)")
        }
    }
}

extension CourierRig {
    func decoded() throws -> CourierSettings {
        try SettingsReader(text: settings, file: "p.yaml").decode(CourierSettings.self)
    }
}

extension TestCertificates {
    fileprivate func settings() throws -> CourierSettings {
        let text = "listen: 127.0.0.1:0\ncertificate: \(certificate)\nkey: {$file: \(key)}"
        return try SettingsReader(text: text, file: "p.yaml").decode(CourierSettings.self)
    }
}

/// A client with Python's TLS. Prints the TLS version, the name in the certificate, and the courier's answer. If
/// connecting fails with an `SSLError`, prints this error instead.
private struct Client {
    let port: Int
    let trust: String

    func get(_ path: String, version: String = "", checksCertificate: Bool = true) async throws -> String {
        try await start(path, version: version, checksCertificate: checksCertificate).standardOutput()
    }

    func start(_ path: String, version: String = "", checksCertificate: Bool = true) throws -> TestProgram {
        let checks = checksCertificate ? "checked" : ""
        return try TestProgram(Python.program, ["-c", Self.program, "\(port)", trust, path, version, checks])
    }

    private static let program = """
        import socket, ssl, sys, warnings
        warnings.simplefilter("ignore")
        port, trust, path, version, checks = sys.argv[1:]
        context = ssl.create_default_context(cafile=trust)
        if not checks:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if version:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
        try:
            plain = socket.create_connection(("127.0.0.1", int(port)))
            secure = context.wrap_socket(plain, server_hostname="127.0.0.1")
        except ssl.SSLError as error:
            print("SSLError", error)
            sys.exit()
        names = dict(pair[0] for pair in secure.getpeercert().get("subject", ()))
        print(secure.version(), names.get("commonName"))
        secure.sendall(f"GET {path} HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n".encode())
        answer = b""
        while piece := secure.recv(65536): answer += piece
        sys.stdout.write(answer.decode())
        """
}
