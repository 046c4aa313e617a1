import StageTool

/// Prints a trace as a Mermaid flowchart, for documents and tickets.
package enum TraceMermaid {
    package static func lines(_ graph: TraceGraph) -> [String] {
        var names: [EventPlace: String] = [:]
        var (boxes, arrows) = ([String](), [String]())
        _ = graph.trees { (visit, effects: [(EventPlace, Duration?)]) in
            let place = visit.node.event.place
            let name = names[place] ?? "e\(names.count + 1)"
            names[place] = name
            if !visit.isRepeated { boxes.append(box(name, visit)) }
            for (effect, since) in effects {
                let time = since.map { "|\"\($0.sinceText)\"| " } ?? ""
                arrows.append("  \(name) --> \(time)\(names[effect] ?? "")")
            }
            return (place, visit.since)
        }
        return ["flowchart TD"] + boxes + arrows
    }

    private static func box(_ name: String, _ visit: TraceGraph.Visit) -> String {
        let event = visit.node.event
        let texts = [event.place.description, event.type.printable, TraceSummary.text(event), event.now.rfc3339]
        let text = texts.filter { !$0.isEmpty }.map(escaped).joined(separator: "<br/>")
        return visit.isTarget ? "  \(name)([\"\(text)\"])" : "  \(name)[\"\(text)\"]"
    }

    /// Writes characters with a meaning in Mermaid or HTML as entities.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\"", "#", "<", ">", "&", "`", "\\", ";", "|", "[", "]", "{", "}": result += "#\(character.value);"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
