import Synchronization
import Time

/// A certificate that has expired, or will expire within thirty days.
public struct EndingCertificate: Hashable, Sendable {
    private static let notice = Duration.seconds(30 * 86_400)

    /// The settings key whose value is the path of the certificate, or a mapping that contains the path at any depth.
    public let key: String
    /// The app's name in the pipeline file; nil for a certificate that belongs to no app, such as the gateway's.
    public let app: String?
    /// The file that contains the certificate.
    public let path: String
    /// When the certificate expires.
    public let end: Instant
    /// How many whole days are left; 0 after it has expired.
    public let days: Int
    /// Whether ``end`` has passed.
    public let hasExpired: Bool
    /// What the operator should do.
    public let remedy: String
    private let consequence: String

    /// Nil if the certificate is valid for at least thirty more days. `consequence` says what an expired certificate
    /// causes.
    public init?(
        _ path: String, of app: String? = nil, key: String, end: Instant, at now: Instant, consequence: String,
        remedy: String
    ) {
        guard end - now < Self.notice else { return nil }
        (self.path, self.app, self.key, self.end) = (path, app, key, end)
        (self.consequence, self.remedy) = (consequence, remedy)
        hasExpired = end <= now
        days = hasExpired ? 0 : Int((end - now).components.seconds / 86_400)
    }

    private static func words(_ days: Int) -> String {
        switch days {
        case 0: "in less than a day"
        case 1: "in 1 day"
        default: "in \(days) days"
        }
    }

    /// A sentence for the operator, without a full stop.
    package var text: String {
        if hasExpired { return "the certificate \(path) expired on \(end): \(consequence)" }
        return "the certificate \(path) expires on \(end), \(Self.words(days))"
    }

    /// ``text`` after the app's name and a colon; only ``text`` if the certificate belongs to no app.
    package var textWithApp: String { app.map { "\($0): \(text)" } ?? text }
}

/// Tells the operator, at most once a day, which certificates have expired or will expire soon.
package final class CertificateWatch: Sendable {
    private static let interval = Duration.seconds(86_400)

    private let next = Mutex(Instant.epoch)
    private let name: String
    private let tell: @Sendable (String) -> Void

    package init(_ context: TransportContext) { (name, tell) = (context.name, context.tell) }

    package func reportEndingCertificates(in settings: some PluginSettings, now: Instant) {
        let isDue = next.withLock { next in
            guard now >= next else { return false }
            next = now.advanced(by: Self.interval)
            return true
        }
        guard isDue else { return }
        for certificate in settings.endingCertificates(at: now) {
            tell("\(name): \(certificate.textWithApp); \(certificate.remedy)")
        }
    }
}
