import PipelineKit
import Synchronization

/// The apps whose pushes are all rejected. Tells the operator the reason and the remedy when an app's pushes are first
/// rejected and whenever the reason changes, and tells when the app's pushes are accepted again.
final class StoppedApps: Sendable {
    private let reasons = Mutex<[Delivery.App: String]>([:])
    private let name: String
    private let tell: @Sendable (String) -> Void

    init(_ context: TransportContext) { (name, tell) = (context.name, context.tell) }

    func note(_ answers: [TransportAnswer], to pushes: [Delivery]) {
        let isAnyAppStopped = reasons.withLock { !$0.isEmpty }
        guard isAnyAppStopped || answers.contains(where: { $0.outcome == .stopped }) else { return }
        let apps = Dictionary(pushes.map { ($0.id, $0.app) }, uniquingKeysWith: { first, _ in first })
        for answer in answers {
            guard let app = apps[answer.id] ?? nil else { continue }
            if answer.outcome == .stopped {
                stop(app, answer)
            } else if answer.outcome == .accepted, reasons.withLock({ $0.removeValue(forKey: app) }) != nil {
                tell("\(name): \(app.text): pushes are accepted again")
            }
        }
    }

    private func stop(_ app: Delivery.App, _ answer: TransportAnswer) {
        let said = [answer.status.map(String.init), answer.reason].compactMap { $0 }.joined(separator: " ")
        guard reasons.withLock({ $0.updateValue(said, forKey: app) }) != said else { return }
        let remedy = Self.remedy(answer.status, answer.reason ?? "")
        tell(
            "\(name): \(app.text): every push is rejected: \(said)\(remedy.map { "; " + $0 } ?? ""). "
                + "The pushes of the app wait and are retried. To test now, run belfry doctor apns")
    }

    private static func remedy(_ status: Int?, _ reason: String) -> String? {
        if let remedy = APNsProbe.remedy(status: status, reason: reason) { return remedy }
        return status == nil ? nil : APNsProbe.verdict(status: status, reason: reason).remedy
    }
}

extension Delivery.App {
    fileprivate var text: String { [container, environment, topic].compactMap(\.self).joined(separator: " ") }
}
