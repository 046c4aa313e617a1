import EventLog
import PipelineKit
import Synchronization

/// The transports of one stage, open for as long as its process works: a host that follows another goes on with them.
final class StageTransports: Sendable {
    private let places = Mutex<[String: Place]>([:])
    private let commons = SharedResources()

    fileprivate struct Place {
        var open: OpenTransport
        var origin: Origin
        var transport: any Transport { open.transport }
    }

    /// What a transport was made from.
    fileprivate struct Origin: Hashable {
        var kind: String
        var settings: String
        var folder: String
        var inputLog: String?
        var sync: SyncPolicy

        init(_ binding: TransportBinding, _ plan: HostPlan) {
            (kind, settings) = (binding.kind, binding.settings.record())
            (folder, inputLog, sync) = (plan.logDirectory, plan.inputLog, plan.sync)
        }

        /// Whether a transport that was made from the other could go on with these settings.
        func isAnother(than other: Origin) -> Bool {
            var one = self
            one.settings = other.settings
            return one != other
        }
    }

    /// What is to happen to the transports between two hosts.
    struct Change: Sendable {
        /// What the operator is told.
        private(set) var said: [String] = []
        fileprivate var opened: [String: Place] = [:]
        fileprivate var closed: [String] = []
        fileprivate var changed: [(name: String, origin: Origin, change: TransportChange)] = []
    }

    /// Opens those of a host that are not open yet.
    func open(_ bindings: [TransportBinding], of host: StageHost) async throws -> [String: OpenTransport] {
        let present = places.withLock { $0 }
        var made: [(String, Place)] = []
        for binding in bindings where present[binding.name] == nil {
            made.append((binding.name, try make(binding, of: host)))
        }
        for (name, place) in made.sorted(by: { $0.0 < $1.0 }) {
            try await place.transport.open()
            places.withLock { $0[name] = place }
        }
        return places.withLock { $0.mapValues(\.open) }
    }

    private func make(_ binding: TransportBinding, of host: StageHost) throws -> Place {
        Place(open: OpenTransport(transport: try host.transport(binding, commons)), origin: Origin(binding, host.plan))
    }

    func close() async {
        let closed = places.withLock { places in
            defer { places = [:] }
            return places.values.map(\.transport)
        }
        await withTaskGroup { group in
            for transport in closed { group.addTask { await transport.close() } }
        }
    }

    // MARK: Another host

    /// Makes ready for a host with other settings. What works now is left as it is.
    ///
    /// - Throws: Where one of them could not work.
    func change(to bindings: [TransportBinding], of host: StageHost) async throws -> Change {
        var change = Change()
        do {
            for binding in bindings { try await add(binding, of: host, to: &change) }
        } catch {
            await drop(change)
            throw error
        }
        for name in places.withLock({ $0.keys.sorted() }) where !bindings.contains(where: { $0.name == name }) {
            change.close(name, "\(name) closed")
        }
        return change
    }

    private func add(_ binding: TransportBinding, of host: StageHost, to change: inout Change) async throws {
        let (name, origin) = (binding.name, Origin(binding, host.plan))
        guard let place = places.withLock({ $0[name] }) else {
            let place = try make(binding, of: host)
            try await place.transport.open()
            return change.open(name, place)
        }
        if origin.isAnother(than: place.origin) { return change.close(name, "\(name) opened anew") }
        if let own = try await host.change(place.transport, to: binding) {
            change.changed.append((name, origin, own))
            if !own.said.isEmpty { change.say("\(name): " + own.said.joined(separator: ", ")) }
        } else if origin != place.origin {
            change.close(name, "\(name) opened anew")
        }
    }

    /// To be called between two hosts. What was closed to be opened anew is opened with the next.
    func apply(_ change: Change) async {
        for one in change.changed { await one.change.apply() }
        let closed = places.withLock { places in
            for one in change.changed { places[one.name]?.origin = one.origin }
            places.merge(change.opened) { $1 }
            return change.closed.compactMap { places.removeValue(forKey: $0)?.transport }
        }
        for transport in closed { await transport.close() }
    }

    /// The change is not to be.
    func drop(_ change: Change) async {
        for place in change.opened.values { await place.transport.close() }
    }
}

extension StageTransports.Change {
    fileprivate mutating func say(_ text: String) { said.append(text) }

    fileprivate mutating func close(_ name: String, _ text: String) {
        closed.append(name)
        say(text)
    }

    fileprivate mutating func open(_ name: String, _ place: StageTransports.Place) {
        opened[name] = place
        say("\(name) opened")
    }
}
