import Events
import JSON
import Time

/// Prints a trace as one JSON object on one line.
package enum TraceJSON {
    /// `{"asked":…,"as":…,"targets":["changes:17"],"changesLeftOut":0,"isCut":false,"trace":[node, …]}`, where a node
    /// is `{"log":…,"sequence":…,"now":…,"type":…,"sinceCauseMicroseconds":…,"target":true,"event":{…},"waitsFor":…,
    /// "effects":[node, …]}`. Only targets have `target`. A repeated node has `"repeated":true` in place of `event`,
    /// `waitsFor` and `effects`.
    package static func text(_ graph: TraceGraph, asked: String, as kind: TraceIDKind) -> String {
        ByteBuffer.object {
            $0.append("asked", asked)
            $0.append("as", kind.rawValue)
            $0.append("targets", graph.targetsInOrder.map(\.description))
            $0.append("changesLeftOut", graph.changesLeftOut)
            $0.append("isCut", graph.isCut)
            $0.append("trace", raw: list(graph.trees(node)))
        }.text
    }

    /// `{"asked":…,"hits":[{"as":…,"log":…,"sequence":…,"now":…,"type":…,"event":{…}}, …],"hasMore":false}`.
    package static func text(_ hits: [TraceHit], hasMore: Bool, asked: String) -> String {
        ByteBuffer.object {
            $0.append("asked", asked)
            $0.append("hits", raw: list(hits.map(text)))
            $0.append("hasMore", hasMore)
        }.text
    }

    private static func list(_ texts: [String]) -> String { "[" + texts.joined(separator: ",") + "]" }

    private static func text(_ hit: TraceHit) -> String {
        ByteBuffer.object {
            $0.append("as", hit.kind.rawValue)
            appendHead(of: hit.event, to: &$0)
            append(event: hit.event, to: &$0)
        }.text
    }

    private static func node(_ visit: TraceGraph.Visit, _ effects: [String]) -> String {
        ByteBuffer.object {
            appendHead(of: visit.node.event, to: &$0)
            $0.append("sinceCauseMicroseconds", visit.since?.wholeMicroseconds)
            if visit.isTarget { $0.append("target", true) }
            guard !visit.isRepeated else { return $0.append("repeated", true) }
            append(event: visit.node.event, to: &$0)
            $0.append("waitsFor", visit.node.waitsFor)
            $0.append("effects", raw: list(effects))
        }.text
    }

    private static func appendHead(of event: TraceEvent, to buffer: inout ByteBuffer) {
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
