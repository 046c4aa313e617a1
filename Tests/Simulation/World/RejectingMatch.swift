import BuiltIns
import JSON
import Match
import PipelineKit
import Time

/// A match stage that rejects some saved records, so that there are dead letters.
struct RejectingMatch: Stage {
    static let kind = MatchStage.kind
    static let writes = MatchStage.writes
    static let snapshotVersion = MatchStage.snapshotVersion
    private var stage: MatchStage

    init(_ settings: MatchStage.Settings, context: StageContext) throws(SettingsError) {
        stage = try MatchStage(settings, context: context)
    }

    static func rejects(_ type: String, _ sequence: UInt64) -> Bool { type == "record.save" && sequence % 7 == 3 }

    var deadline: Instant? { stage.deadline }

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        if Self.rejects(event.json["type"]?.string ?? "", event.sequence) {
            return out.reject(event, Rejection(code: "record.unwanted", reason: "rejected for the test"))
        }
        stage.receive(event, at: now, into: &out)
    }

    mutating func wake(at now: Instant, into out: inout Outbox) { stage.wake(at: now, into: &out) }
    var isUnfinished: Bool { stage.isUnfinished }
    mutating func proceed(at now: Instant, into out: inout Outbox) { stage.proceed(at: now, into: &out) }
    func snapshot(into snapshot: inout SnapshotWriter) { stage.snapshot(into: &snapshot) }
    mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try stage.restore(from: &snapshot)
    }
}

extension Registry {
    /// Belfry's stages, transports and policies, with ``RejectingMatch`` as the match stage.
    static let simulated = Registry.builtIns.replacing(with: RejectingMatch.self)

    /// A copy of this registry, with `stage` in place of the registered stage of the same kind.
    func replacing<S: Stage>(with stage: S.Type) -> Registry {
        var registry = Registry()
        registry.register(stage)
        for (kind, type) in stages where kind != S.kind { registry.register(type) }
        for type in transports.values { registry.register(type) }
        for type in policies.values { registry.register(type) }
        return registry
    }
}
