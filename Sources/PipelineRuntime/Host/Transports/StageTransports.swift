import EventLog
import PipelineKit
import Synchronization

/// The open transports of one stage. After a reload the next host uses the same transports, so a reload closes only the
/// transports that it removes or must open again.
final class StageTransports: Sendable {
    private let entries = Mutex<[String: Entry]>([:])
    private let shared = SharedResources()

    fileprivate struct Entry {
        var open: OpenTransport
        var configuration: Configuration
        var transport: any Transport { open.transport }
    }

    fileprivate struct Configuration: Hashable {
        var kind: String
        var settings: String
        var folder: String
        var inputLog: String?
        var sync: SyncPolicy

        init(_ binding: TransportBinding, _ plan: HostPlan) {
            (kind, settings) = (binding.kind, binding.settings.record())
            (folder, inputLog, sync) = (plan.logDirectory, plan.inputLog, plan.sync)
        }

        /// Whether anything but the transport's own settings differs. The transport must then be opened again.
        func mustReopen(comparedTo other: Configuration) -> Bool {
            var one = self
            one.settings = other.settings
            return one != other
        }
    }

    /// The changes of a reload.
    struct Change: Sendable {
        fileprivate(set) var descriptions: [String] = []
        fileprivate var opened: [String: Entry] = [:]
        fileprivate var toClose: [String] = []
        fileprivate var closesAll = false
        fileprivate var changed: [(name: String, configuration: Configuration, change: TransportChange)] = []

        fileprivate mutating func markForClosing(_ name: String, _ description: String) {
            toClose.append(name)
            descriptions.append(description)
        }
    }

    func open(_ bindings: [TransportBinding], of host: StageHost) async throws -> [String: OpenTransport] {
        let current = entries.withLock { $0 }
        var made: [(String, Entry)] = []
        for binding in bindings where current[binding.name] == nil {
            made.append((binding.name, try make(binding, of: host)))
        }
        for (name, entry) in made.sorted(by: { $0.0 < $1.0 }) {
            try await entry.transport.open()
            entries.withLock { $0[name] = entry }
        }
        return entries.withLock { $0.mapValues(\.open) }
    }

    private func make(_ binding: TransportBinding, of host: StageHost) throws -> Entry {
        Entry(
            open: OpenTransport(transport: try host.transport(binding, shared)),
            configuration: Configuration(binding, host.plan))
    }

    func close() async {
        let closed = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map(\.transport)
        }
        await withTaskGroup { group in
            for transport in closed { group.addTask { await transport.close() } }
        }
    }

    // MARK: Reloading

    /// The change for a host that stands by. It has no open transports, unless it takes its log over in the meantime.
    func changeOfAll() -> Change {
        var change = Change()
        change.closesAll = true
        return change
    }

    /// Prepares a reload: opens the transports that are new, and leaves the current transports as they are. Throws if a
    /// new transport cannot be opened, or if a current transport refuses its new settings.
    func prepareChange(to bindings: [TransportBinding], of host: StageHost) async throws -> Change {
        var change = Change()
        do {
            for binding in bindings { try await add(binding, of: host, to: &change) }
        } catch {
            await drop(change)
            throw error
        }
        for name in entries.withLock({ $0.keys.sorted() }) where !bindings.contains(where: { $0.name == name }) {
            change.markForClosing(name, "\(name) closed")
        }
        return change
    }

    private func add(_ binding: TransportBinding, of host: StageHost, to change: inout Change) async throws {
        let (name, configuration) = (binding.name, Configuration(binding, host.plan))
        guard let entry = entries.withLock({ $0[name] }) else {
            let entry = try make(binding, of: host)
            try await entry.transport.open()
            change.opened[name] = entry
            return change.descriptions.append("\(name) opened")
        }
        if configuration.mustReopen(comparedTo: entry.configuration) {
            return change.markForClosing(name, "\(name) reopened")
        }
        if let own = try await host.change(entry.transport, to: binding) {
            change.changed.append((name, configuration, own))
            if !own.descriptions.isEmpty {
                change.descriptions.append("\(name): " + own.descriptions.joined(separator: ", "))
            }
        } else if configuration != entry.configuration {
            change.markForClosing(name, "\(name) reopened")
        }
    }

    /// Applies a reload after one host has stopped and before the next starts. The next host opens the transports that
    /// must be opened again.
    func apply(_ change: Change) async {
        for one in change.changed { await one.change.apply() }
        let closed = entries.withLock { entries in
            for one in change.changed { entries[one.name]?.configuration = one.configuration }
            entries.merge(change.opened) { $1 }
            let toClose = change.closesAll ? Array(entries.keys) : change.toClose
            return toClose.compactMap { entries.removeValue(forKey: $0)?.transport }
        }
        for transport in closed { await transport.close() }
    }

    func drop(_ change: Change) async {
        for entry in change.opened.values { await entry.transport.close() }
    }
}
