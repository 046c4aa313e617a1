import PipelineKit
import Synchronization

/// One stage in this process, which may come to other settings while it works: then one host ends as at any stop, and
/// another goes on from its log and snapshot, with the same transports. What they have under way goes on meanwhile.
package final class ReloadableStage: Sendable {
    private let transports = StageTransports()
    private let state: Mutex<State>

    private struct State {
        var host: StageHost
        var next: Successor?
        var isStopping = false
        var isOver = false
    }

    fileprivate struct Successor: Sendable {
        var host: StageHost
        var change: StageTransports.Change
    }

    package init(_ host: StageHost) { state = Mutex(State(host: host)) }

    /// The one that works now.
    package var host: StageHost { state.withLock { $0.host } }

    /// Whether it was not asked to stop, nor ended by itself.
    package var isGoingOn: Bool { state.withLock { !$0.isStopping && !$0.isOver } }

    /// Returns when the stage was stopped and all it took in is durable.
    package func run() async throws {
        defer { end() }
        do {
            var host: StageHost? = self.host
            while let present = host {
                try await present.run(with: transports)
                host = await succeed(present)
            }
        } catch {
            await transports.close()
            throw error
        }
        await transports.close()
    }

    /// Asks the stage to finish the batch in hand, make it durable and return.
    package func stop() {
        state.withLock { state in
            state.isStopping = true
            return state.host
        }.control.stop()
    }

    private func succeed(_ past: StageHost) async -> StageHost? {
        let (next, isOver) = state.withLock { state in
            defer { state.next = nil }
            return (state.next, state.isStopping)
        }
        guard let next else { return nil }
        guard !isOver else {
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
        past.control.end()
        return next.host
    }

    private func end() {
        let hosts = state.withLock { state in
            state.isOver = true
            return [state.host, state.next?.host].compactMap(\.self)
        }
        for host in hosts { host.control.end() }
    }

    // MARK: Reloading

    /// What the stage could go on with.
    package struct Prospect: Sendable {
        /// What is other, for the operator: of transports what they say, of all else the keys.
        package let said: [String]
        fileprivate let next: Successor
    }

    /// Sees whether the stage could go on with what the pipeline file says by now, and changes nothing. One call at a time.
    ///
    /// - Returns: For ``take(_:)`` or ``drop(_:)``; nil where nothing is other.
    /// - Throws: ``ReloadError``, or what is wrong with a transport or an address.
    package func prospect(of next: StageHost) async throws -> Prospect? {
        let present = host
        // It opens its transports before.
        guard await present.control.wait(until: { $0.phase != .starting }) else { throw ReloadError.ended }
        if let obstacle = present.plan.obstacle(to: next.plan) { throw obstacle }
        try await next.checkAddresses(beside: present.plan)
        let change = try await transports.change(to: next.bindings(), of: next)
        let keys = next.plan.keysThatDiffer(from: present.plan).filter { !change.tells(of: $0) }
        let said = change.said + (keys.isEmpty ? [] : [keys.joined(separator: ", ")])
        if !said.isEmpty { return Prospect(said: said, next: Successor(host: next, change: change)) }
        await transports.drop(change)
        return nil
    }

    package func drop(_ prospect: Prospect) async { await transports.drop(prospect.next.change) }

    /// Goes on with it. When this returns, the new host works.
    ///
    /// - Throws: ``ReloadError/ended``.
    package func take(_ prospect: Prospect) async throws {
        let present: StageHost? = state.withLock { state in
            guard !state.isStopping, !state.isOver else { return nil }
            state.next = prospect.next
            return state.host
        }
        guard let present else {
            await drop(prospect)
            throw ReloadError.ended
        }
        present.control.stop()
        let control = prospect.next.host.control
        guard await control.wait(until: { $0.phase != .starting && $0.phase != .stopped }) else {
            throw ReloadError.ended
        }
    }
}

extension StageTransports.Change {
    /// Whether what is said names the transport that a key belongs to.
    fileprivate func tells(of key: String) -> Bool {
        let words = key.split(separator: ".")
        guard words.count > 1, words[0] == "transports" else { return false }
        return said.contains { $0.hasPrefix("\(words[1]) ") || $0.hasPrefix("\(words[1]):") }
    }
}

package enum ReloadError: Error, Hashable, CustomStringConvertible {
    case otherLog(String, present: String)
    case otherUpstream(String, present: String)
    /// A program does what a stage of this process did, or the other way round.
    case otherProgram
    /// The stage stopped meanwhile.
    case ended

    package var description: String {
        switch self {
        case .otherLog(let log, let present):
            "by `data` and `log` it would write \(log), and it writes \(present): that takes a restart"
        case .otherUpstream(let log, let present):
            "by `data` and `from` it would read \(log), and it reads \(present): that takes a restart"
        case .otherProgram: "`command` comes or goes: that takes a restart"
        case .ended: "the stage was stopped"
        }
    }
}
