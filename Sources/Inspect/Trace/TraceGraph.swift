import Events
import JSON
import Time

/// Some events, the targets, with their causes and effects. If there are too many causes or effects, some are left out:
/// see ``changesLeftOut`` and ``isCut``.
package struct TraceGraph {
    struct Node {
        var event: TraceEvent
        /// In the order of ``Causality/effects(of:user:)``.
        var effects: [EventPlace] = []
        /// The log that should contain an effect but does not: its stage may be behind, or may hold the effect back.
        var waitsFor: String?
        /// Whether a plugin writes the log `waitsFor` and has processed the event without writing an effect.
        var wasDroppedByPlugin = false
    }

    private(set) var nodes: [EventPlace: Node] = [:]
    /// The events without a cause in the graph, in the order of their times.
    private(set) var roots: [EventPlace] = []
    private(set) var targets: Set<EventPlace>
    /// How many changes that led to a target are left out.
    private(set) var changesLeftOut = 0
    /// Whether a change has more than ``Causality/matchesMax`` matches, so that some are left out.
    private(set) var isCut = false

    package init(of targets: [TraceEvent], _ causality: Causality) throws {
        self.targets = Set(targets.map(\.place))
        let user = TraceGraph.user(of: targets)
        for target in targets {
            let (origins, leftOut) = try causality.origins(of: target)
            changesLeftOut += leftOut
            for origin in origins { try expand(origin, user, causality) }
            if nodes[target.place] == nil { try expand(target, user, causality) }
        }
        prune()
    }

    /// The only user of all targets. Nil if the targets are for several users, or if one target names no user, is a
    /// change, or is a `device.*` event.
    private static func user(of targets: [TraceEvent]) -> ExactText? {
        let users = Set(targets.map { $0.facts.isChange || $0.facts.isDevice ? nil : $0.facts.user })
        return users.count == 1 ? users.first ?? nil : nil
    }

    private mutating func expand(_ root: TraceEvent, _ user: ExactText?, _ causality: Causality) throws {
        if !roots.contains(root.place) { roots.append(root.place) }
        var open = [root]
        while let event = open.popLast() {
            if nodes[event.place] != nil { continue }
            let (effects, isCutHere) = try causality.effects(of: event, user: user)
            isCut = isCut || isCutHere
            let missing = effects.isEmpty ? event.logOfExpectedEffect(in: causality.logs) : nil
            nodes[event.place] = Node(
                event: event, effects: effects.map(\.place), waitsFor: missing,
                wasDroppedByPlugin: try causality.logs.hasPluginProcessed(event, for: missing))
            open += effects.reversed()
        }
    }

    /// Removes the events that are neither targets nor causes or effects of a target.
    private mutating func prune() {
        var causes: [EventPlace: [EventPlace]] = [:]
        for (place, node) in nodes { for effect in node.effects { causes[effect, default: []].append(place) } }
        let before = reached { causes[$0] ?? [] }
        let after = reached { [nodes] place in nodes[place]?.effects ?? [] }
        let kept = before.union(after)
        nodes = nodes.filter { kept.contains($0.key) }
        for place in nodes.keys { nodes[place]?.effects.removeAll { !kept.contains($0) } }
        let effects = Set(nodes.values.flatMap(\.effects))
        roots = roots.filter { kept.contains($0) && !effects.contains($0) }
        let times = nodes.mapValues(\.event.now)
        roots.sort { (times[$0] ?? .epoch, $0.sequence) < (times[$1] ?? .epoch, $1.sequence) }
    }

    private func reached(_ next: (EventPlace) -> [EventPlace]) -> Set<EventPlace> {
        var reached: Set<EventPlace> = []
        var open = Array(targets)
        while let place = open.popLast() {
            if reached.insert(place).inserted { open += next(place) }
        }
        return reached
    }
}

extension TraceGraph {
    /// One occurrence of a node in a tree.
    struct Visit {
        var node: Node
        /// The time since the cause; nil for a root.
        var since: Duration?
        var isTarget: Bool
        /// Whether the node occurred earlier, as the effect of another cause. Only its first occurrence has effects.
        var isRepeated: Bool
    }

    /// Builds one tree for each root. Calls `make` for a node after it has called `make` for the children.
    func trees<Tree>(_ make: (Visit, [Tree]) -> Tree) -> [Tree] {
        var seen: Set<EventPlace> = []
        return roots.compactMap { tree($0, nil, &seen, make) }
    }

    private func tree<Tree>(
        _ place: EventPlace, _ cause: Instant?, _ seen: inout Set<EventPlace>, _ make: (Visit, [Tree]) -> Tree
    ) -> Tree? {
        guard let node = nodes[place] else { return nil }
        let isRepeated = !seen.insert(place).inserted
        var children: [Tree] = []
        for effect in isRepeated ? [] : node.effects {
            if let child = tree(effect, node.event.now, &seen, make) { children.append(child) }
        }
        let visit = Visit(
            node: node, since: cause.map { node.event.now - $0 }, isTarget: targets.contains(place),
            isRepeated: isRepeated)
        return make(visit, children)
    }
}

extension TraceLogs {
    /// Whether a plugin writes the log `name` and has processed `event`. The event's effects, if any, are then in this
    /// log. False if one of Belfry's own stages writes the log, because such a stage may hold events back. Also false
    /// for an event that the log `name` contains itself.
    fileprivate func hasPluginProcessed(_ event: TraceEvent, for name: String?) throws -> Bool {
        guard let log = name.flatMap(log(named:)), log.role == .other, log.upstream == event.log else { return false }
        var isPassed = false
        _ = try LogScan.events(in: log.directory, from: event.now, containing: []) { _ in
        } isEnough: { header in
            isPassed = header.reaches(event.place.sequence)
            return isPassed
        }
        return isPassed
    }
}

extension TraceEvent {
    /// The log that should contain an effect of the event. Nil for events of types that are not listed here, and if the
    /// next log does not exist.
    fileprivate func logOfExpectedEffect(in logs: TraceLogs) -> String? {
        switch type {
        case EventName.recordSave, EventName.recordDelete, EventName.match, EventName.notification, EventName.push:
            logs.downstream(of: log).first?.name
        case EventName.coalesced: log
        default: nil
        }
    }
}
