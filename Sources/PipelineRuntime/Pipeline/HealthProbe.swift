import JSON
import PipelineKit
import ZeroMQ

/// Asks a stage for its health, over the link that it serves.
package struct HealthProbe {
    private let socket: ClientSocket
    package let endpoint: String
    private let message = ZMQMultipart()
    private let poller = ZMQPoller()

    /// - Parameter endpoint: Where the stage is; nil for the address in its plan.
    package init(_ plan: HostPlan, _ context: HostContext, endpoint: String? = nil) throws {
        socket = try ToolSocket.make(plan, context)
        self.endpoint = endpoint ?? plan.bind
        try socket.connect(self.endpoint)
        poller.add(socket)
    }

    /// Why the stage refuses the connection; nil if no refusal is known.
    ///
    /// - Parameter onlyIfCertain: Whether to return a refusal only if it is sure to last until a setting is changed. A
    ///   refusal because of another key is not sure to last: a stage that is just starting may seem to have another
    ///   key.
    package func refusal(onlyIfCertain: Bool) throws -> LinkError? {
        guard let refusal = try socket.checkConnection(at: .now), refusal.isCertain || !onlyIfCertain else {
            return nil
        }
        return .connectionRefused(endpoint: endpoint, refusal, purpose: "reading")
    }

    /// The stage's answer, one JSON object; nil if no answer came in time. For `forgetsPauses` see
    /// ``LinkFrame/health(forgetsPauses:)``.
    package func ask(timeout: Duration, forgetsPauses: Bool = false) throws -> String? {
        try discardLateAnswers()
        let deadline = ContinuousClock.now + timeout
        while .now < deadline {
            _ = try socket.send([LinkFrame.health(forgetsPauses: forgetsPauses)], wait: false)
            _ = try poller.poll(timeoutMilliseconds: 50)
            _ = try socket.checkConnection(at: .now)
            if try socket.receive(into: message, wait: false) == .received {
                return String(decoding: message[0], as: UTF8.self)
            }
        }
        return nil
    }

    /// An earlier ``ask(timeout:forgetsPauses:)`` may have sent its request several times and received only one answer.
    private func discardLateAnswers() throws {
        while try socket.receive(into: message, wait: false) == .received {}
    }
}
