import PipelineKit

/// What the operator hears of stops that are the stage's own. Those that a transport answers, it tells of itself.
extension DeliverStage {
    func tellOfSuspicion(of app: Int, into out: inout Outbox) {
        out.tell(
            "\(registry.apps.keys[app].text): nothing more is sent: \(Self.suspicion) "
                + "\(StoppedApp.remedyOfSuspicion). Its pushes wait and are tried again")
    }

    func tellOfEnd(of app: Int, into out: inout Outbox) {
        out.tell("\(registry.apps.keys[app].text): a device is known there: pushes are sent again")
    }
}

extension AppKey {
    /// As the operator knows it.
    fileprivate var text: String {
        "\(transport): " + [app.container, app.environment, app.topic].compactMap(\.self).joined(separator: " ")
    }
}
