import BuiltIns
import Glibc
import PipelineKit
import PipelineRuntime
import RecordStore
import WebServices
import ZeroMQ

/// Sends requests with `h2load` to a gateway for CloudKit Web Services. The gateway and ingest run in processes of
/// their own.
struct APIBench: Sendable {
    /// How many requests of each kind to send. The bench sends fewer requests with 10 or 200 operations.
    let requests: Int
    let connections: Int
    /// How many records the bench saves before it measures. A multiple of 200.
    let records: Int
    /// The setting `log.sync` of the pipeline file.
    let sync: String
    let interruption: Interruption

    /// A kind of request, which `h2load` sends many times.
    enum Request: String, CaseIterable, Sendable {
        /// A request to ``ConstantServer``.
        case constant
        case lookup
        case query
        case modify1 = "modify 1"
        case modify10 = "modify 10"
        case modify200 = "modify 200"
    }

    struct Result: Sendable {
        let request: Request
        let requests: Int
        let load: H2Load.Result

        var operationsPerSecond: Double { load.perSecond * Double(max(request.writes, 1)) }
    }

    /// - Returns: A result for each kind of request, in the order of ``Request``.
    func run(in folder: String) async throws -> [Result] {
        let constant = try await ConstantServer.whileRunning { [self] port in
            try await SocketThread.run(name: "h2load") { try measure(.constant, port: port, in: folder) }
        }
        let processes = try StageProcesses(try pipeline(in: folder))
        let results = try await processes.whileRunning(interruption) { [self] pids in
            guard let port = try processes.checked.gatewayPort(process: pids[1]) else {
                throw ToolFailure(.software, "the gateway no longer listens")
            }
            let probe = try StageProbe(processes.plans[0], processes.context, timeout: .seconds(10))
            try fill(port: port, in: folder)
            try buildIndexes(port: port, in: folder, processes.checked)
            return try Request.allCases.dropFirst().map {
                try measureAndCheck($0, port: port, in: folder, probe, processes)
            }
        }
        return [constant] + results
    }

    private func pipeline(in folder: String) throws -> CheckedPipeline {
        let path = folder + "/bench.yaml"
        try TextFile.write(
            """
            pipeline: bench
            data: data
            log: { sync: \(sync) }
            stages:
              ingest: {}
            api: { listen: "127.0.0.1:0" }

            """, to: path)
        let checked = try CheckedPipeline(PipelineText(path: path), checkingOnlyStagesOf: .builtIns)
        try DataFolder.prepare(checked.file.data)
        return checked
    }

    /// Saves the records, of which 200 have known names.
    private func fill(port: Int, in folder: String) throws {
        let named = APIBenchBody.modify(200, areNamed: true)
        _ = try load(.modify200, port: port, in: folder, body: named).run(requests: 1)
        let others = APIBenchBody.modify(200)
        _ = try load(.modify200, port: port, in: folder, body: others).run(requests: max(1, records / 200 - 1))
    }

    /// Sends the query until the store has each index that the gateway makes for this query.
    private func buildIndexes(port: Int, in folder: String, _ checked: CheckedPipeline) throws {
        guard let gateway = try checked.gateway else { return }
        let store = StoreFolder(gateway, of: checked.file).store
        var known: [StoreSummary.Index]?
        while true {
            _ = try load(.query, port: port, in: folder, body: Request.query.body).run(requests: 1)
            var indexes: [StoreSummary.Index]
            repeat {
                try interruption.check()
                // The gateway looks for wanted indexes five times a second.
                usleep(600_000)
                indexes = try StoreSummary(path: store).indexes
            } while indexes.contains { !$0.isComplete }
            if indexes == known { return }
            known = indexes
        }
    }

    /// Measures a kind of request, and checks that the log grew by one event for each record that the requests saved.
    private func measureAndCheck(
        _ request: Request, port: Int, in folder: String, _ probe: StageProbe, _ processes: StageProcesses
    ) throws -> Result {
        let before = try last(probe)
        let result = try measure(request, port: port, in: folder)
        try processes.check()
        let events = try last(probe) - before
        guard events == UInt64(result.requests * request.writes) else {
            throw ToolFailure(
                .software,
                "the log grew by \(events.of("event")) after \(result.requests.of("request")), each of which saves "
                    + request.writes.of("record"))
        }
        return result
    }

    private func last(_ probe: StageProbe) throws -> UInt64 {
        guard let answer = try probe.ask() else {
            throw ToolFailure(.unavailable, "ingest did not report its position within 10 seconds")
        }
        return answer.last
    }

    private func measure(_ request: Request, port: Int, in folder: String) throws -> Result {
        try interruption.check()
        let count = max(connections, requests / max(1, request.writes / 4))
        return Result(
            request: request, requests: count, load: try load(request, port: port, in: folder).run(requests: count))
    }

    /// - Parameter body: A body to send over one connection; nil to send the request's own body over all connections.
    private func load(_ request: Request, port: Int, in folder: String, body: String? = nil) -> H2Load {
        H2Load(
            url: "http://127.0.0.1:\(port)\(request.path)", headers: ["content-type: application/json"],
            body: body ?? request.body, isHTTP1: true, measuresLatency: true,
            connections: body == nil ? connections : 1, folder: folder)
    }
}

extension [APIBench.Result] {
    /// How many requests with 200 operations were answered each second.
    var modify200PerSecond: Double { last?.load.perSecond ?? 0 }
}

extension APIBench.Request {
    /// How many records a request saves.
    var writes: Int {
        switch self {
        case .constant, .lookup, .query: 0
        case .modify1: 1
        case .modify10: 10
        case .modify200: 200
        }
    }

    fileprivate var path: String {
        let endpoint =
            switch self {
            case .constant: "constant"
            case .lookup: "records/lookup"
            case .query: "records/query"
            case .modify1, .modify10, .modify200: "records/modify"
            }
        return "/database/1/iCloud.com.example.Bench/development/private/\(endpoint)?ckWebAuthToken=_alice"
    }

    fileprivate var body: String {
        switch self {
        case .constant: APIBenchBody.modify(1)
        case .lookup: #"{"records":[{"recordName":"r7"}]}"#
        case .query:
            #"{"query":{"recordType":"Note","filterBy":[{"fieldName":"topic","comparator":"EQUALS","#
                + #""fieldValue":{"value":"t7","type":"STRING"}}],"sortBy":[{"fieldName":"priority","ascending":true}]},"#
                + #""resultsLimit":10}"#
        case .modify1, .modify10, .modify200: APIBenchBody.modify(writes)
        }
    }
}

enum APIBenchBody {
    /// The body of a request that creates records of about 300 bytes each. If they are not named, the gateway gives
    /// them new names in every request.
    static func modify(_ count: Int, areNamed: Bool = false) -> String {
        let operations = (0..<count).map { number in
            #"{"operationType":"create","record":{\#(areNamed ? #""recordName":"r\#(number)","# : "")"recordType":"Note","#
                + #""fields":{"topic":{"value":"t\#(number)","type":"STRING"},"priority":{"value":\#(number % 10),"#
                + #""type":"INT64"},"title":{"value":"Draft \#(number), written on a train between two stations, and then "#
                + #"again at home","type":"STRING"}}}}"#
        }
        return #"{"operations":[\#(operations.joined(separator: ","))]}"#
    }
}
