import Foundation
import PipelineRuntime

/// `h2load`, the load generator of nghttp2, written in C++. It sends one request again and again.
struct H2Load {
    let url: String
    var headers: [String] = []
    let body: String
    /// Whether the requests use HTTP/1.1 instead of HTTP/2.
    var isHTTP1 = false
    /// Whether `h2load` writes a line for each request to a file, which lowers the rate.
    var measuresLatency = false
    let connections: Int
    /// How many requests are in flight on each connection.
    var streams = 1
    /// The folder for the files of `h2load`.
    let folder: String

    struct Result: Sendable {
        let perSecond: Double
        /// How long requests took, in microseconds; zero without ``H2Load/measuresLatency``.
        let latency: Percentiles
    }

    /// - Throws: ``ToolFailure`` with status 69 if `h2load` is missing or does not end within five minutes, and with 70
    ///   if it prints no rate or a request is not answered with 2xx.
    func run(requests count: Int) throws -> Result {
        let (bodyFile, output, log) = ("\(folder)/body", "\(folder)/h2load.txt", "\(folder)/h2load.log")
        try TextFile.write(body, to: bodyFile)
        // h2load appends to this file.
        unlink(log)
        let file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        let process: ChildProcess
        do throws(ChildProcessError) {
            process = try ChildProcess(command(count, bodyFile, log), standard: .lifeline(output: file))
        } catch {
            throw ToolFailure(.unavailable, "\(error): install nghttp2-client")
        }
        guard process.wait(atMost: .seconds(300)) != nil else {
            process.signal(SIGKILL)
            throw ToolFailure(.unavailable, "h2load did not end within five minutes")
        }
        let text = try String(contentsOfFile: output, encoding: .utf8)
        return Result(perSecond: try rate(text, count), latency: try measuresLatency ? latency(log) : Percentiles([]))
    }

    private func command(_ count: Int, _ body: String, _ log: String) -> [String] {
        ["h2load", "-n", "\(count)", "-c", "\(connections)", "-m", "\(streams)", "-d", body]
            + (measuresLatency ? ["--log-file", log] : []) + (isHTTP1 ? ["--h1"] : []) + headers.flatMap { ["-H", $0] }
            + [url]
    }

    /// Finds the rate in `finished in 437ms, 229233.19 req/s, 5.93MB/s`, and the number of answers in
    /// `status codes: 100000 2xx, …`.
    private func rate(_ text: String, _ count: Int) throws -> Double {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard let unit = words.firstIndex(of: "req/s,"), unit > 0, let rate = Double(words[unit - 1]),
            let class2 = words.firstIndex(of: "2xx,"), class2 > 0
        else {
            throw ToolFailure(
                .software, "h2load did not print a rate and the number of 2xx answers: \(text.suffix(300))")
        }
        guard Int(words[class2 - 1]) == count else {
            throw ToolFailure(
                .software, "only \(words[class2 - 1]) of \(count.of("request")) to \(url) were answered with 2xx")
        }
        return rate
    }

    /// Reads the durations in the third column of the file that `h2load` has written.
    private func latency(_ log: String) throws -> Percentiles {
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        return Percentiles(lines.compactMap { $0.split(separator: "\t").dropFirst(2).first.flatMap { Int64($0) } })
    }
}
