import Foundation
import PipelineRuntime

/// `h2load`, the load generator of libnghttp2. This client, written in C, is the baseline of the bench.
struct H2Load {
    private let server: DeliverBenchServer
    private let connections: Int
    private let streams: Int
    private let folder: String

    init(_ server: DeliverBenchServer, connections: Int, streams: Int, _ folder: String) {
        (self.server, self.connections, self.streams, self.folder) = (server, connections, streams, folder)
    }

    /// Sends requests with the headers and the body of the pushes.
    ///
    /// - Returns: Requests a second.
    func rate(ofRequests count: Int) throws -> Double {
        let (body, output) = ("\(folder)/body.json", "\(folder)/h2load.txt")
        try TextFile.write(DeliverBenchPushes.payload, to: body)
        let file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        let process: ChildProcess
        do throws(ChildProcessError) {
            process = try ChildProcess(command(count, body), standard: .lifeline(output: file))
        } catch {
            throw ToolFailure(.unavailable, "\(error): install nghttp2-client")
        }
        guard process.wait(atMost: .seconds(300)) != nil else {
            process.signal(SIGKILL)
            throw ToolFailure(.unavailable, "h2load did not end within five minutes")
        }
        return try read(String(contentsOfFile: output, encoding: .utf8))
    }

    private func command(_ count: Int, _ body: String) -> [String] {
        let headers = [
            "authorization: bearer " + String(repeating: "x", count: 230), "apns-topic: com.example.Bench",
            "apns-push-type: alert", "apns-priority: 10", "apns-id: 976ec45b-c157-8d46-a9cc-000000000000",
            "apns-collapse-id: 976ec45b-c157-8d46-a9cc-000000000000",
        ]
        return ["h2load", "-n", "\(count)", "-c", "\(connections)", "-m", "\(streams)", "-d", body]
            + headers.flatMap { ["-H", $0] } + [
                "https://localhost:\(server.port)/3/device/\(DeliverBenchServer.token(7))"
            ]
    }

    /// Finds the rate in `finished in 437ms, 229233.19 req/s, 5.93MB/s` and `status codes: 100000 2xx, …`.
    private func read(_ text: String) throws -> Double {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard let unit = words.firstIndex(of: "req/s,"), unit > 0, let rate = Double(words[unit - 1]),
            let class2 = words.firstIndex(of: "2xx,"), class2 > 0, Int(words[class2 - 1]) ?? 0 > 0
        else { throw ToolFailure(.software, "h2load printed no rate: \(text.suffix(300))") }
        return rate
    }
}
