import BuiltIns
import Inspect
import PipelineKit
import StageTool
import TestSupport
import Testing

@testable import BelfryTool

@Suite struct HostsCheckTests {
    private static func answer(_ stage: String, _ host: String, _ phase: String?) throws -> HostsCheck.Answer {
        HostsCheck.Answer(
            stage: stage, host: host,
            health: try phase.map {
                try #require(
                    StageHealth(
                        #"{"stage":"\#(stage)","phase":"\#($0)","log":"l","first":1,"last":2,"pid":3}"#))
            })
    }

    @Test func `stages without an owner, silent hosts and waiting stages are reported`() throws {
        let well = try [
            Self.answer("ingest", "a", "running"), Self.answer("ingest", "b", "standing_by"),
            Self.answer("match", "a", "standing_by"), Self.answer("match", "b", "running"),
        ]
        #expect(HostsCheck.findings(well).isEmpty)
        let ill = try [
            Self.answer("ingest", "a", "no_quorum"), Self.answer("ingest", "b", nil),
            Self.answer("match", "a", "standing_by"), Self.answer("match", "b", nil),
        ]
        #expect(HostsCheck.findings(ill).map(\.code) == ["hosts.no_owner", "hosts.silent", "health.no_quorum"])
        #expect(HostsCheck.findings(ill)[0].text == "no host runs match")
        #expect(HostsCheck.findings(ill)[1].text.contains("host b does not answer for ingest, match"))
    }

    @Test func `a gateway is asked at the address where only its own host can listen`() async throws {
        let (folder, port) = (try TemporaryFolder(), try ReservedPort())
        func states(_ listen: String, _ hosts: String, here: String? = nil) async throws -> [String] {
            let path = try folder.file(
                "p.yaml",
                """
                pipeline: notes
                data: data
                log: {home: jetstream, servers: ["nats://127.0.0.1:1"]}
                hosts: {\(hosts)}
                stages: {ingest: {bind: "tcp://127.0.0.1:7401", door: "tcp://127.0.0.1:7402", open: true}}
                api: {listen: "\(listen):\(port.number)", behindTLS: true}

                """)
            let text = try PipelineText(path: path)
            let file = try CheckedPipeline(text, host: here).file
            return try await HostsCheck.gateways(of: file.hosts, in: file, path).map { gateway in
                (HostsCheck.silence(gateway) ?? HostsCheck.note(gateway)).map { "\($0.code): \($0.text)" } ?? "answers"
            }
        }
        let two = "a: {address: 127.0.0.1}, b: {address: 127.0.0.2}"
        for text in try await states("0.0.0.0", two) {
            #expect(text.contains(/hosts.gateway_silent: .* of host [ab] does not answer at 127.0.0.[12]:/), "\(text)")
        }
        let shared = try await states("127.0.0.1", two)
        #expect(shared[0].contains("the gateway of host a does not answer at 127.0.0.1"), "\(shared)")
        #expect(shared[1].hasPrefix("hosts.gateway_unchecked: the gateway of host b is not checked"), "\(shared)")
        let far = try await states("127.0.0.1", "a: {address: 10.0.0.1}, b: {address: 10.0.0.2, stages: [ingest]}")
        #expect(far.count == 1 && far[0].hasPrefix("hosts.gateway_unchecked"), "\(far)")
        let here = try await states("127.0.0.1", two, here: "b")
        #expect(here[1].hasSuffix("of host b has not accepted requests yet, although the pipeline is running"))
    }

    @Test func `clocks that differ by more than a second are reported`() {
        #expect(HostsCheck.finding(ofClock: "b", .milliseconds(900)) == nil)
        #expect(
            HostsCheck.finding(ofClock: "b", .seconds(-2))?.text.contains("host b is 2 s behind this machine's") == true
        )
        #expect(HostsCheck.finding(ofClock: "b", .seconds(90))?.text.contains("ahead of this machine's") == true)
    }
}
