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

    private struct Successor {
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

    /// Goes on with what the pipeline file says by now. One call at a time.
    ///
    /// - Returns: What is other about its transports; nil where nothing at all is other. By then the new host works.
    /// - Throws: ``ReloadError``, or what is wrong with a transport; the stage goes on as it was.
    package func reload(to next: StageHost) async throws -> [String]? {
        let present = host
        guard next.plan.logDirectory == present.plan.logDirectory,
            next.plan.command.isEmpty == present.plan.command.isEmpty
        else { throw ReloadError.otherPlace(stage: present.plan.stage) }
        let change = try await transports.change(to: next.bindings(), of: next)
        guard !change.said.isEmpty || !next.plan.isLike(present.plan) else {
            await transports.drop(change)
            return nil
        }
        let isTaken = state.withLock { state in
            guard !state.isStopping, !state.isOver else { return false }
            state.next = Successor(host: next, change: change)
            return true
        }
        guard isTaken else {
            await transports.drop(change)
            throw ReloadError.ended
        }
        present.control.stop()
        guard await next.control.wait(until: { $0.phase != .starting && $0.phase != .stopped }) else {
            throw ReloadError.ended
        }
        return change.said
    }
}

package enum ReloadError: Error, Hashable, CustomStringConvertible {
    /// The stage's log, or what does its work, is another.
    case otherPlace(stage: String)
    /// The stage stopped meanwhile.
    case ended

    package var description: String {
        switch self {
        case .otherPlace(let stage):
            "\(stage) would have another log or be another program: that takes a restart"
        case .ended: "the stage was stopped"
        }
    }
}
