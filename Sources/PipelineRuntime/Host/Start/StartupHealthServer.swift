import Events
import JSON
import ZeroMQ

/// Serves the link of a stage that cannot start yet. It answers only `health`. A client that opens the link gets no
/// answer and tries again later.
final class StartupHealthServer {
    let socket: ZMQSocket
    private let plan: HostPlan
    private let control: HostControl
    private let poller = ZMQPoller()
    private let frames = ControlFrames(side: .link, framesRule: #"a "health" message has one"#)

    init(_ plan: HostPlan, _ control: HostControl, _ socket: ZMQSocket) {
        (self.plan, self.control, self.socket) = (plan, control, socket)
        poller.add(control.wake)
        poller.add(socket)
    }

    /// Answers for at most this time. Returns earlier when the host is asked to stop.
    func answer(for time: Duration) throws {
        let end = ContinuousClock.now + time
        while !control.isStopAsked, case let rest = end - .now, rest > .zero {
            let milliseconds = (rest / .milliseconds(1)).rounded(.up)
            _ = try poller.poll(timeoutMilliseconds: Int(milliseconds))
            control.wake.clear()
            try answerWaiting()
        }
    }

    private func answerWaiting() throws {
        while true {
            switch try frames.next(from: socket, { _, _, _ in }) {
            case .none: return
            case .frame(let control, let peer) where frames.message.count == 2 && control.text(.type) == "health":
                _ = try socket.send([peer, HostHealth(plan: plan, report: self.control.report).frame], wait: false)
            case .frame, .refused: continue
            }
        }
    }
}
