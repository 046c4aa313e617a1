import EventLog
import Glibc
import JetStream
import JetStreamHome
import NATS

/// NATS servers that keep the logs of a pipeline that a bench runs.
struct BenchHome: Sendable {
    let servers: [String]
    let replicas: Int
    /// The name of the pipeline, which no other run has.
    let pipeline = "belfry-bench-\(getpid())-\(UInt32.random(in: 0 ... .max))"

    /// The lines below `log:` in the pipeline file.
    var settings: String {
        """
          home: jetstream
          servers: [\(servers.map { "\"\($0)\"" }.joined(separator: ", "))]
          replicas: \(replicas)
        """
    }

    /// Removes the streams of the pipeline's logs.
    func removeStreams(of logs: [String]) throws {
        let jetStream = JetStream(try NATSConnection(try NATSSettings(servers: servers)), answerTimeout: .seconds(20))
        for log in logs {
            let stream = try JetStreamHome.stream(pipeline: pipeline, log: log)
            try BenchHome.remove(stream, jetStream)
            try BenchHome.remove(try StreamName("\(stream)__snapshots"), jetStream)
        }
        jetStream.connection.close()
    }

    private static func remove(_ stream: StreamName, _ jetStream: JetStream) throws {
        do throws(JetStreamError) { try jetStream.delete(stream) } catch {
            guard error.isStreamNotFound else { throw error }
        }
    }
}

/// The speed of the servers without a pipeline, beside the speed of a pipeline whose logs they keep.
struct BenchHomeResult: Sendable {
    /// The bytes of the five logs for each change.
    var bytesPerChange: Double
    /// Bytes a second that were published in messages of 1 MB, one at a time.
    var bareBytesPerSecond: Double
    /// From one publish of a small message to its acknowledgement, in microseconds.
    var publish: Percentiles

    /// How many changes a second the servers' speed allows for.
    var allowedPerSecond: Double { bareBytesPerSecond / bytesPerChange }

    func lines(_ result: PipelineResult) -> [String] {
        [
            "the five logs take \(bytesPerChange.text(decimals: 0)) bytes for each change; the servers alone take "
                + "\((bareBytesPerSecond / 1e6).text(decimals: 0)) MB/s, enough for \(allowedPerSecond.text(decimals: 0)) "
                + "changes/s; ratio \((result.perSecond / allowedPerSecond).text(decimals: 2))",
            "one small publish: \(publish.text); ratio of the p99s "
                + (Double(result.latency.p99) / Double(max(publish.p99, 1))).text(decimals: 1),
        ]
    }

    func json(_ result: PipelineResult) -> ReportValue {
        .object([
            "bytesPerChange": .number(bytesPerChange), "bareBytesPerSecond": .number(bareBytesPerSecond),
            "allowedChangesPerSecond": .number(allowedPerSecond),
            "ratio": .number(result.perSecond / allowedPerSecond), "publishMilliseconds": publish.report,
            "p99Ratio": .number(Double(result.latency.p99) / Double(max(publish.p99, 1))),
        ])
    }
}
