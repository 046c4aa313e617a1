import BuiltIns
import Foundation
import FoundationNetworking
import JSON
import PipelineKit
import PipelineRuntime
import Synchronization
import TestSupport
import Testing

@testable import PipelineTestKit
@testable import WebServices

/// A whole pipeline in this process, on real sockets, with a gateway in front.
final class GatewayRig: Sendable {
    let folder: Folder
    let process: PipelineProcess
    let gateway: Gateway
    let pushes: PushCollector
    /// The gateway's messages for the operator.
    let messages: OperatorMessages
    /// The text of the pipeline file.
    let text: String
    private let port = Mutex(0)

    static let console = "{use: console}"
    static let container = "iCloud.com.example.Notes"

    private init(_ settings: String, log: String, courier: String, clock: ReadClock?) throws {
        folder = try Folder()
        text = """
            pipeline: web
            data: \(folder.path)
            log: \(log)
            stages:
              ingest: {}
              match: {from: ingest}
              coalesce: {from: match}
              payload: {from: coalesce}
              deliver: {from: payload, transports: {apns: {use: console}, courier: \(courier)}}
            api: {listen: "127.0.0.1:0"\(settings)}
            """
        let file = try PipelineFile.parse(text, file: "web.yaml", registry: .builtIns)
        let collector = PushCollector()
        let context = try HostContext()
        let surroundings =
            courier == Self.console
            ? HostSurroundings(registry: .builtIns, context: context, sink: { collector.add($0) })
            : HostSurroundings(registry: .builtIns, context: context)
        process = try PipelineProcess(file, in: surroundings)
        let messages = OperatorMessages()
        gateway = try Gateway(
            of: file, path: "web.yaml", now: { clock?.now() ?? .now },
            say: { line in messages.lines.withLock { $0.append(line) } })
        (self.messages, pushes) = (messages, collector)
    }

    /// Lines for the operator.
    final class OperatorMessages: Sendable {
        let lines = Mutex<[String]>([])
    }

    /// The pipeline file.
    func file() throws -> PipelineFile { try PipelineFile.parse(text, file: "web.yaml", registry: .builtIns) }

    /// Starts the pipeline and the gateway, and stops both after `body`.
    ///
    /// - Parameters:
    ///   - settings: Further settings of the gateway, each after a comma.
    ///   - log: The settings of the logs.
    ///   - courier: The settings of the transport `courier`. With the default, ``pushes`` collects all pushes. With
    ///     other settings, the transports send the pushes, and ``pushes`` stays empty.
    ///   - clock: The clock for the time limit of reads; nil for the system's clock.
    static func with(
        _ settings: String = "", log: String = "{sync: never}", courier: String = console, clock: ReadClock? = nil,
        _ body: (GatewayRig) async throws -> Void
    ) async throws {
        let rig = try GatewayRig(settings, log: log, courier: courier, clock: clock)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await rig.process.run() }
            let (ports, ready) = AsyncStream.makeStream(of: Int.self)
            group.addTask {
                defer { ready.finish() }
                try await rig.gateway.run { ready.yield(Int($0.split(separator: ":").last ?? "") ?? 0) }
            }
            for await port in ports {
                rig.port.withLock { $0 = port }
                do { try await body(rig) } catch {
                    rig.stop()
                    throw error
                }
                break
            }
            rig.stop()
            while try await group.next() != nil {}
        }
    }

    /// Runs a second gateway of this pipeline.
    ///
    /// - Parameters:
    ///   - store: The folder of the second gateway's store.
    ///   - body: Called with a function that posts a body to an endpoint of the second gateway.
    func withSecondGateway(
        store: String, _ body: ((String, String) async throws -> Answer) async throws -> Void
    ) async throws {
        try await withPortOfSecondGateway(store: store) { port in
            try await body { try await self.post($0, $1, port: port) }
        }
    }

    func withPortOfSecondGateway(store: String, _ body: (Int) async throws -> Void) async throws {
        let text = text.replacing("api: {", with: "api: {store: \(store), ")
        let file = try PipelineFile.parse(text, file: "web.yaml", registry: .builtIns)
        let second = try Gateway(of: file, path: "web.yaml") { _ in }
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (ports, ready) = AsyncStream.makeStream(of: Int.self)
            group.addTask {
                defer { ready.finish() }
                try await second.run { ready.yield(Int($0.split(separator: ":").last ?? "") ?? 0) }
            }
            for await port in ports.prefix(1) {
                do { try await body(port) } catch {
                    second.stop()
                    throw error
                }
            }
            second.stop()
            while try await group.next() != nil {}
        }
    }

    private func stop() {
        gateway.stop()
        process.stop()
    }

    // MARK: Requests

    /// An answer: its status, its body, and its headers by their names in lower case.
    struct Answer: Sendable {
        let status: Int
        let text: String
        let headers: [String: String]

        /// The string, number or Boolean at a path such as `records.0.recordName`, as a string. True is `1`, false is
        /// `0`. Nil if the path leads to no such value.
        subscript(path: String) -> String? {
            var value: Any?
            do { value = try JSONSerialization.jsonObject(with: Data(text.utf8)) } catch { return nil }
            for part in path.split(separator: ".") {
                if let index = Int(part), let list = value as? [Any] {
                    value = list.indices.contains(index) ? list[index] : nil
                } else {
                    value = (value as? [String: Any])?[String(part)]
                }
            }
            switch value {
            case let text as String: return text
            case let number as NSNumber: return "\(number)"
            default: return nil
            }
        }

        /// The number of elements of the list under a key of the JSON; 0 if the JSON has no such list.
        func count(_ key: String) -> Int {
            do {
                let json = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
                return (json?[key] as? [Any])?.count ?? 0
            } catch { return 0 }
        }
    }

    /// Sends a request to an endpoint, such as `private/records/modify`, as a user.
    @discardableResult
    func post(
        _ endpoint: String, _ body: String = "{}", as user: String? = "_alice", query: String = "", port: Int? = nil
    ) async throws -> Answer {
        let root = endpoint.hasPrefix("tokens/") ? "device" : "database"
        let token = user.map { "ckWebAuthToken=\($0)" } ?? ""
        return try await send(
            "POST", "/\(root)/1/\(Self.container)/development/\(endpoint)?\(token)\(query)", Data(body.utf8), port: port
        )
    }

    func send(
        _ method: String, _ target: String, _ body: Data? = nil, headers: [String: String] = [:], port: Int? = nil
    ) async throws -> Answer {
        let url = try #require(URL(string: "http://127.0.0.1:\(port ?? portNumber)\(target)"))
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        let answer = try #require(response as? HTTPURLResponse)
        let fields = answer.allHeaderFields.map { ("\($0.key)".lowercased(), "\($0.value)") }
        return Answer(
            status: answer.statusCode, text: String(decoding: data, as: UTF8.self),
            headers: Dictionary(fields) { first, _ in first })
    }

    var portNumber: Int { port.withLock(\.self) }

    /// Opens a TCP connection to the gateway. The test can send any text over it, even if the text is not HTTP.
    func connectRawClient() throws -> RawClient { try RawClient(port: port.withLock(\.self)) }

    /// Modifies one record of a zone of the private database.
    func modify(
        _ operation: String, _ name: String, tag: String? = nil, fields: String? = #"{"title":{"value":"Hi"}}"#,
        zone: String = "_defaultZone", as user: String = "_alice"
    ) async throws -> Answer {
        let tag = tag.map { #","recordChangeTag":"\#($0)""# } ?? ""
        let fields = fields.map { #","fields":\#($0)"# } ?? ""
        return try await post(
            "private/records/modify",
            #"{"operations":[{"operationType":"\#(operation)","record":{"recordName":"\#(name)","recordType":"Note""#
                + #","zoneID":{"zoneName":"\#(zone)"}\#(tag)\#(fields)}}]}"#, as: user)
    }
}
