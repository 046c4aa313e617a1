import Events
import JSON
import ZeroMQ

/// Answers `health`, and nothing else, in the place of a stage that cannot start yet: whoever opens the link asks again.
final class HealthDesk {
    let socket: ZMQSocket
    private let plan: HostPlan
    private let control: HostControl
    private let poller = ZMQPoller()
    private let message = ZMQMultipart()
    private var parser = JSONParser(limits: JSONLimits(bytesMax: 64 << 10, depthMax: 8))

    init(_ plan: HostPlan, _ control: HostControl, _ socket: ZMQSocket) {
        (self.plan, self.control, self.socket) = (plan, control, socket)
        poller.add(control.wake)
        poller.add(socket)
    }

    /// Returns after that time, or when the host is asked to stop.
    func answer(for time: Duration) throws {
        let end = ContinuousClock.now + time
        while !control.isStopAsked, case let rest = end - .now, rest > .zero {
            let milliseconds = (rest / .milliseconds(1)).rounded(.up)
            _ = try poller.poll(timeoutMilliseconds: Int(milliseconds))
            control.wake.clear()
            while case let result = try socket.receive(into: message, wait: false), result != .empty {
                if result == .received, isHealth { try answer() }
            }
        }
    }

    private var isHealth: Bool {
        guard message.count == 2 else { return false }
        do throws(JSONError) { return try parser.parse(message[1]).text(.type) == "health" } catch { return false }
    }

    private func answer() throws {
        _ = try socket.send([message.bytes(at: 0), HostHealth(plan: plan, report: control.report).frame], wait: false)
    }
}
