import PipelineKit
import Synchronization

/// A stage whose settings may change while it runs. On a change its host stops, and a new host in the same process
/// continues from the log and the snapshot. The new host keeps the open transports, except those that the change
/// removes or must open again. A transport that is opened again may repeat its pushes in flight.
package final class ReloadableStage: Sendable {
    private let transports = StageTransports()
    private let state: Mutex<State>

    private struct State {
        var host: StageHost
        var next: PreparedReload?
        var isStopping = false
        var hasEnded = false
    }

    package init(_ host: StageHost) { state = Mutex(State(host: host)) }

    /// The host that runs now.
    package var host: StageHost { state.withLock { $0.host } }

    /// Whether the stage has neither ended nor been asked to stop.
    package var isRunning: Bool { state.withLock { !$0.isStopping && !$0.hasEnded } }

    /// Returns when the stage was stopped and the events in its log are durable.
    package func run() async throws {
        defer { end() }
        do {
            var host: StageHost? = self.host
            while let current = host {
                try await current.run(with: transports)
                host = await replaceWithSuccessor(current)
            }
        } catch {
            await transports.close()
            throw error
        }
        await transports.close()
    }

    /// Asks the stage to stop: see ``HostControl/stop()``.
    package func stop() {
        state.withLock { state in
            state.isStopping = true
            return state.host
        }.control.stop()
    }

    /// Replaces a stopped host with its successor, if there is one.
    private func replaceWithSuccessor(_ stopped: StageHost) async -> StageHost? {
        let (next, wasStopping) = state.withLock { state in
            defer { state.next = nil }
            return (state.next, state.isStopping)
        }
        guard let next else { return nil }
        guard !wasStopping else {
            await transports.drop(next.change)
            next.host.control.end()
            return nil
        }
        await transports.apply(next.change)
        let isStopping = state.withLock { state in
            state.host = next.host
            return state.isStopping
        }
        if isStopping { next.host.control.stop() }
        stopped.control.end()
        return next.host
    }

    private func end() {
        let hosts = state.withLock { state in
            state.hasEnded = true
            return [state.host, state.next?.host].compactMap(\.self)
        }
        for host in hosts { host.control.end() }
    }

    // MARK: Reloading

    /// A reload that was checked and can be applied.
    package struct PreparedReload: Sendable {
        /// The differences, for the operator: a description of each transport's change, then one string with the keys
        /// of all other changed settings.
        package let descriptions: [String]
        fileprivate let host: StageHost
        fileprivate let change: StageTransports.Change
    }

    /// Checks whether another host could continue the stage, and opens the transports that the reload adds. The running
    /// host and its transports stay as they are. Only one call may run at a time.
    ///
    /// - Returns: The reload, to pass to ``apply(_:)`` or ``drop(_:)``; nil if nothing differs.
    /// - Throws: ``ReloadError``, or the error of a transport or an address.
    package func preparedReload(of next: StageHost) async throws -> PreparedReload? {
        let current = host
        // A starting host is still opening its transports.
        guard await current.control.wait(until: { $0.phase != .starting }) else { throw ReloadError.ended }
        if let obstacle = current.plan.obstacle(to: next.plan) { throw obstacle }
        try await next.checkAddresses(beside: current.plan)
        let isStandingBy = [.standingBy, .noQuorum].contains(current.control.report.phase) && current.plan.hosts != nil
        let change =
            isStandingBy
            ? transports.changeOfAll() : try await transports.prepareChange(to: next.bindings(), of: next)
        let keys = next.plan.keysThatDiffer(from: current.plan).filter { !change.alreadyNames($0) }
        let descriptions = change.descriptions + (keys.isEmpty ? [] : [keys.joined(separator: ", ")])
        if !descriptions.isEmpty { return PreparedReload(descriptions: descriptions, host: next, change: change) }
        await transports.drop(change)
        return nil
    }

    package func drop(_ preparedReload: PreparedReload) async { await transports.drop(preparedReload.change) }

    /// Applies the reload. Returns when the new host has left the phase ``HostReport/Phase/starting``.
    ///
    /// - Throws: ``ReloadError/ended`` if the stage was stopped or has ended, also if the new host ended at its start.
    package func apply(_ preparedReload: PreparedReload) async throws {
        let current: StageHost? = state.withLock { state in
            guard !state.isStopping, !state.hasEnded else { return nil }
            state.next = preparedReload
            return state.host
        }
        guard let current else {
            await drop(preparedReload)
            throw ReloadError.ended
        }
        current.control.stop(continuesHere: true)
        let control = preparedReload.host.control
        guard await control.wait(until: { $0.phase != .starting && $0.phase != .stopped }) else {
            throw ReloadError.ended
        }
    }
}

extension StageTransports.Change {
    /// Whether a description already names the transport that the key belongs to.
    fileprivate func alreadyNames(_ key: String) -> Bool {
        let words = key.split(separator: ".")
        guard words.count > 1, words[0] == "transports" else { return false }
        return descriptions.contains { $0.hasPrefix("\(words[1]) ") || $0.hasPrefix("\(words[1]):") }
    }
}

/// Why a stage cannot switch to another pipeline file while it runs.
package enum ReloadError: Error, Hashable, CustomStringConvertible {
    case otherLog(String, current: String)
    case otherUpstream(String, current: String)
    /// The stage becomes a program, or stops being one.
    case otherProgram
    case ended

    package var description: String {
        switch self {
        case .otherLog(let log, let current):
            "`data` and `log` would make the stage write \(log) instead of \(current): restart the stage"
        case .otherUpstream(let log, let current):
            "`data` and `from` would make the stage read \(log) instead of \(current): restart the stage"
        case .otherProgram: "`command` was added or removed: restart the stage"
        case .ended: "the stage was stopped or has ended"
        }
    }
}
