import NIOCore
import PipelineKit

@testable import TransportAPNs

/// The history of a pool: a list of events. Each method goes through all events.
struct PoolHistory {
    /// In each case, the number without a label is the ID of a connection.
    enum Event {
        /// The stage passed a push to the pool.
        case passed(push: Int, batch: Int, orderKey: UInt8?)
        case sent(push: Int, over: Int)
        /// The push's stream ended. The status is 0 if the server did not process the push, and -1 if the result is
        /// unknown.
        case streamEnded(push: Int, over: Int, status: Int)
        case answered(TransportAnswer, batch: Int)
        case dialed(Int, at: NIODeadline)
        case connected(Int)
        /// The server sent GOAWAY. A GOAWAY that rejects the credential stops the pool.
        case goneAway(Int, rejectsCredential: Bool)
        case closeRequested(Int)
        case settings(Int, streams: Int)
        case ended(Int, at: NIODeadline)
        /// The settings changed. `renews` means that waiting pushes need new connections.
        case changed(connections: Int, renews: Bool)
        case retired, closed
    }

    /// A push between its arrival and its final answer.
    struct OpenPush {
        /// The index of the event with which the push arrived.
        let began: Int
        let orderKey: UInt8?
        var batch: Int
        /// The connection on which the push is in flight; nil if the push waits.
        var over: Int?
        /// Whether the window of the push ended, and the pool answered that the push is still in flight.
        var isLate = false
    }

    /// Statuses that show that the connection is good.
    static let good = [200, 410, 429, 503]

    var events: [Event] = []

    /// - Returns: The pushes that have no final answer, and the mistakes of the pool.
    func openPushes() -> (open: [Int: OpenPush], mistakes: [String]) {
        var (open, mistakes): ([Int: OpenPush], [String]) = ([:], [])
        // The pool keeps the final answer of a late push in case the stage passes the push again.
        var (withKeptAnswer, isRetired) = (Set<Int>(), false)
        for (index, event) in events.enumerated() {
            switch event {
            case .passed(let push, let batch, let orderKey):
                if isRetired, let openPush = open[push], openPush.isLate, openPush.over == nil { open[push] = nil }
                if open[push] == nil { open[push] = OpenPush(began: index, orderKey: orderKey, batch: batch) }
                open[push]?.batch = batch
                open[push]?.isLate = false
            case .sent(let push, let over):
                if open[push]?.over != nil || withKeptAnswer.contains(push) { mistakes.append("\(push) is sent twice") }
                open[push]?.over = over
            case .streamEnded(let push, _, _): open[push]?.over = nil
            case .answered(let answer, let batch):
                let push = Int(answer.id.push)
                guard let openPush = open[push], openPush.batch == batch else {
                    mistakes.append("\(push) is answered twice, or in the wrong batch")
                    continue
                }
                if answer.isUnderWay {
                    if openPush.isLate { mistakes.append("\(push) is late twice") }
                    open[push]?.isLate = true
                } else {
                    if openPush.isLate { withKeptAnswer.insert(push) } else { withKeptAnswer.remove(push) }
                    open[push] = nil
                }
            case .retired: isRetired = true
            case .closed: open = open.filter { !$0.value.isLate }
            case .dialed, .connected, .goneAway, .closeRequested, .settings, .ended, .changed: break
            }
        }
        // A late push whose stream has ended waits to be sent again. A retired pool drops these waiting pushes without
        // an answer. If the stage passes one of them again, the pool answers then.
        return (isRetired ? open.filter { !$0.value.isLate || $0.value.over != nil } : open, mistakes)
    }

    /// How many pushes may be in flight on a connection.
    func streams(on id: Int, hasToken: Bool) -> Int {
        var (isConnected, streams, isTrusted) = (false, 0, !hasToken)
        for event in events {
            switch event {
            case .connected(id): isConnected = true
            case .settings(id, let count): streams = count
            case .streamEnded(_, id, let status): isTrusted = isTrusted || (status > 0 && status != 403)
            case .goneAway(id, _), .closeRequested(id), .ended(id, _): return 0
            default: break
            }
        }
        return isConnected ? isTrusted ? streams : min(1, streams) : 0
    }

    /// Whether an event allowed the pool to replace a connection.
    func mayBeReplaced(_ id: Int) -> Bool {
        var isOpen = false
        for event in events {
            switch event {
            case .dialed(id, _): isOpen = true
            case .ended(id, _): isOpen = false
            case .changed, .retired, .closed: if isOpen { return true }
            case .goneAway(id, _), .closeRequested(id): return true
            // A credential that is rejected on one connection is rejected on all.
            case .streamEnded(_, _, 403), .goneAway(_, true): if isOpen { return true }
            case .streamEnded(_, id, let status): if status >= 0, !Self.good.contains(status) { return true }
            default: break
            }
        }
        return false
    }

    /// - Returns: The mistake in the newest dial. Nil if the dial is allowed.
    func wrongDial(_ dialing: Dialing, at now: NIODeadline) -> String? {
        var (failures, last, isStopped, most) = (0, NIODeadline.uptimeNanoseconds(0), false, 2)
        var open = Set<Int>()
        for event in events {
            switch event {
            case .streamEnded(_, _, let status) where Self.good.contains(status): failures = 0
            case .changed(let connections, let renews):
                most = connections
                if renews { (failures, isStopped) = (0, false) }
            case .passed: isStopped = false
            case .goneAway(_, let rejectsCredential): isStopped = isStopped || rejectsCredential
            case .dialed(let id, _): open.insert(id)
            case .ended(let id, let at):
                if !mayBeReplaced(id) { (failures, last) = (failures + 1, at) }
                open.remove(id)
            default: break
            }
        }
        if isStopped { return "a connection is dialed with a rejected credential" }
        if open.filter({ !mayBeReplaced($0) }).count > most { return "too many connections" }
        let isTooSoon = failures > 0 && now < last + dialing.wait(afterFailures: failures, jitter: 0)
        return isTooSoon ? "dialed too soon after \(failures) failures" : nil
    }
}
