import Foundation
import TestSupport

/// A TLS server in Python, with a certificate that openssl made. It records the bodies of requests, and answers 204.
final class TLSServer: Sendable {
    /// The path of the certificate to trust.
    let trust: String
    private let folder: Folder
    private let port: String
    private let process: Process

    private static let openssl = "/usr/bin/openssl"

    static var isPossible: Bool {
        [Python.program, openssl].allSatisfy(FileManager.default.isExecutableFile)
    }

    /// Starts the server. Returns when the server listens.
    ///
    /// - Parameter name: The host name in the certificate.
    init(name: String) throws {
        folder = try Folder()
        trust = folder.file("cert.pem")
        try Self.run(
            Self.openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=test", "-addext", "subjectAltName=DNS:\(name)", "-keyout", folder.file("key.pem"), "-out",
                trust,
            ])
        let output = Pipe()
        process = try Self.start(
            Python.program, [try folder.write(Self.program, to: "server.py"), folder.path], output: output)
        port = Self.line(output.fileHandleForReading)
    }

    /// Uses SIGKILL, because the child may have inherited blocked signals.
    deinit { kill(process.processIdentifier, SIGKILL) }

    func url(_ host: String) -> String { "https://\(host):\(port)/pushes" }

    func bodies() throws -> [String] { try folder.lines(of: "bodies") }

    private static func start(_ program: String, _ arguments: [String], output: Pipe) throws -> Process {
        Cost.spend(.processes)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
        let output = Pipe()
        let process = try start(program, arguments, output: output)
        _ = try output.fileHandleForReading.readToEnd()
        process.waitUntilExit()
    }

    private static func line(_ file: FileHandle) -> String {
        var text = ""
        while !text.hasSuffix("\n") {
            let more = file.availableData
            guard !more.isEmpty else { break }
            text += String(decoding: more, as: UTF8.self)
        }
        return String(text.dropLast())
    }

    private static let program = """
        import http.server, ssl, sys
        folder = sys.argv[1]
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with open(folder + "/bodies", "ab") as log: log.write(body + b"\\n")
                self.send_response(204)
                self.end_headers()
            def log_message(self, *words): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """
}
