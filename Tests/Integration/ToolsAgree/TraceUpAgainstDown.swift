import JSON
import PipelineKit
import TestSupport
import Testing

@testable import Inspect

/// Compares `belfry trace` from a change down to its effects with `belfry trace` from an effect up to its changes, and
/// both with the causes that events name.
struct TraceUpAgainstDown {
    private let run: LoggedRun
    private let logs: TraceLogs
    private let causality: Causality

    /// - Parameter usesIndexFiles: See ``TraceLogs``.
    init(_ run: LoggedRun, usesIndexFiles: Bool = false) {
        self.run = run
        logs = TraceLogs(TracedLog.all(of: run.file, in: run.logs), usesIndexFiles: usesIndexFiles)
        causality = Causality(logs)
    }

    /// - Parameter oneIn: On average, one of this many changes is traced down, and one of this many other events up.
    func check(oneIn: Int, _ random: inout Seeded) throws {
        let changes = run.log(.changes)
        let changeCount = try run.events(of: changes).count
        let sources = (1...UInt64(max(changeCount, 1))).filter { _ in random.isOneIn(oneIn) }.prefix(changeCount)
        let down = try Dictionary(uniqueKeysWithValues: sources.map { ($0, try places(from: changes, $0)) })
        for log in logs.logs where log.role != .deadLetters && log.name != changes {
            for event in try run.events(of: log.name) where event.type != "not_matched" && random.isOneIn(oneIn) {
                let place = EventPlace(log: log.name, sequence: event.sequence)
                let up = try Set(places(from: log.name, event.sequence).filter { $0.log == changes }.map(\.sequence))
                for (source, places) in down {
                    let isAgreed = places.contains(place) == up.contains(source)
                    #expect(isAgreed, "\(run.name): \(place) and \(changes):\(source)")
                }
                let named = Set(event.causes + [event.number("change")].compactMap(\.self))
                if !named.isEmpty, event.type != "coalesced" { #expect(up == named, "\(run.name): \(place)") }
                #expect(!up.isEmpty || Self.isAboutApp(event), "\(run.name): the trace of \(place) has no change")
            }
        }
    }

    /// The places of all events in the trace of an event.
    private func places(from log: String, _ sequence: UInt64) throws -> Set<EventPlace> {
        let traced = try #require(logs.log(named: log))
        let event = try #require(try logs.event(at: sequence, in: traced))
        let graph = try TraceGraph(of: [event], causality)
        #expect(graph.nodes[event.place] != nil, "\(run.name): \(event.place) is not in its own trace")
        return Set(graph.nodes.keys)
    }

    /// Whether the event is about a whole app. `belfry trace` does not lead from such an event up to a change.
    private static func isAboutApp(_ event: LoggedRun.Event) -> Bool { event.type.hasPrefix("app.") }
}
