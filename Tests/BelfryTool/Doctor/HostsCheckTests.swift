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

    @Test func `clocks that differ by more than a second are reported`() {
        #expect(HostsCheck.finding(ofClock: "b", .milliseconds(900)) == nil)
        #expect(
            HostsCheck.finding(ofClock: "b", .seconds(-2))?.text.contains("host b is 2 s behind this machine's") == true
        )
        #expect(HostsCheck.finding(ofClock: "b", .seconds(90))?.text.contains("ahead of this machine's") == true)
    }
}
