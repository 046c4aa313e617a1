import Events
import JSON

/// A trace for programs: one JSON object in one line.
package enum TraceJSON {
    /// `{"asked":…,"as":…,"targets":["changes:17"],"changesLeftOut":0,"isCut":false,"trace":[node, …]}`;
    /// a node is
    /// `{"log":…,"sequence":…,"now":…,"sinceCauseMicroseconds":…,"type":…,"target":true,"event":{…},"waitsFor":…,
    /// "effects":[node, …]}`, and where it was met before, `"repeated":true` in place of event and effects.
    package static func text(_ graph: TraceGraph, asked: String, as kind: TraceIDKind) -> String {
        var buffer = start(asked)
        buffer.append("as", kind.rawValue)
        buffer.append("targets", graph.targetsInOrder.map(\.description))
        buffer.append("changesLeftOut", graph.changesLeftOut)
        buffer.append("isCut", graph.isCut)
        buffer.append("trace", raw: list(graph.trees(node)))
        buffer.append("}")
        return buffer.text
    }

    /// `{"asked":…,"hits":[{"as":…,"log":…,"sequence":…,"now":…,"type":…,"event":{…}}, …],"hasMore":false}`.
    package static func text(_ hits: [TraceHit], hasMore: Bool, asked: String) -> String {
        var buffer = start(asked)
        buffer.append("hits", raw: list(hits.map(text)))
        buffer.append("hasMore", hasMore)
        buffer.append("}")
        return buffer.text
    }

    private static func start(_ asked: String) -> ByteBuffer {
        var buffer = ByteBuffer(capacity: 4096)
        buffer.append("{")
        buffer.append("asked", asked)
        return buffer
    }

    private static func list(_ texts: [String]) -> String { "[" + texts.joined(separator: ",") + "]" }

    private static func text(_ hit: TraceHit) -> String {
        var buffer = ByteBuffer(capacity: 1024)
        buffer.append("{")
        buffer.append("as", hit.kind.rawValue)
        append(hit.event, to: &buffer)
        append(event: hit.event, to: &buffer)
        buffer.append("}")
        return buffer.text
    }

    private static func node(_ visit: TraceGraph.Visit, _ effects: [String]) -> String {
        var buffer = ByteBuffer(capacity: 1024)
        buffer.append("{")
        append(visit.node.event, to: &buffer)
        buffer.append("sinceCauseMicroseconds", visit.since?.microseconds)
        if visit.isTarget { buffer.append("target", true) }
        if visit.isRepeated {
            buffer.append("repeated", true)
            buffer.append("}")
            return buffer.text
        }
        append(event: visit.node.event, to: &buffer)
        buffer.append("waitsFor", visit.node.waitsFor)
        buffer.append("effects", raw: list(effects))
        buffer.append("}")
        return buffer.text
    }

    private static func append(_ event: TraceEvent, to buffer: inout ByteBuffer) {
        buffer.append("log", event.log)
        buffer.append(.sequence, event.sequence)
        buffer.append("now", event.now.rfc3339)
        buffer.append(.type, event.type)
    }

    private static func append(event: TraceEvent, to buffer: inout ByteBuffer) {
        buffer.append(member: .event)
        if event.facts.isJSON {
            event.line.withUnsafeBytes { buffer.append($0) }
        } else {
            buffer.append("null")
        }
    }
}

extension TraceGraph {
    var targetsInOrder: [EventPlace] {
        targets.sorted { ($0.log, $0.sequence) < ($1.log, $1.sequence) }
    }
}

extension Duration {
    /// Whole microseconds.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
