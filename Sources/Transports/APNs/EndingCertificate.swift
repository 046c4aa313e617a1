import EventLog
import NIOSSL
import PipelineKit
import Synchronization

/// An app's certificate that is over, or soon will be: Apple's last a year, and no push is taken without.
public struct EndingCertificate: Hashable, Sendable {
    private static let notice = Duration.seconds(30 * 86_400)

    /// What is to be done.
    public static let remedy =
        "renew it at developer.apple.com, Certificates; put the new one in its place, with its key; and have the pipeline "
        + "file read again (SIGHUP)"

    /// The app's name in the pipeline file.
    public let app: String
    public let path: String
    public let end: Instant
    /// How many whole days are left.
    public let days: Int
    public let isOver: Bool

    /// Nil where it lasts longer, and where no file is there that could be read: opening says that.
    init?(_ app: APNsApp, at now: Instant) {
        guard case .certificate(let path, _) = app.credential, let end = Self.end(of: path),
            end - now < Self.notice
        else { return nil }
        (self.app, self.path, self.end) = (app.name, path, end)
        isOver = end <= now
        days = isOver ? 0 : Int((end - now).components.seconds / 86_400)
    }

    /// The app's own stands first, before those that it was signed with.
    private static func end(of path: String) -> Instant? {
        do {
            let seconds = try NIOSSLCertificate.fromPEMFile(path).first?.notValidAfter
            return seconds.map { Instant(microseconds: Int64($0) * 1_000_000) }
        } catch { return nil }
    }

    private static func words(_ days: Int) -> String {
        switch days {
        case 0: "in less than a day"
        case 1: "in 1 day"
        default: "in \(days) days"
        }
    }

    public var text: String {
        if isOver { return "the certificate \(path) is over since \(end): APNs takes no push of \(app)" }
        return "the certificate \(path) ends on \(end), \(Self.words(days))"
    }
}

extension APNsSettings {
    /// In the order of the apps.
    public func endingCertificates(at now: Instant) -> [EndingCertificate] {
        apps.compactMap { EndingCertificate($0, at: now) }
    }
}

/// Tells the operator of certificates that end, once a day.
final class CertificateWatch: Sendable {
    private static let interval = Duration.seconds(86_400)

    private let next = Mutex(Instant.epoch)
    private let name: String
    private let tell: @Sendable (String) -> Void

    init(_ context: TransportContext) { (name, tell) = (context.name, context.tell) }

    func look(at settings: APNsSettings, now: Instant) {
        let isDue = next.withLock { next in
            guard now >= next else { return false }
            next = now.advanced(by: Self.interval)
            return true
        }
        guard isDue else { return }
        for one in settings.endingCertificates(at: now) {
            tell("\(name): \(one.app): \(one.text); \(EndingCertificate.remedy)")
        }
    }
}
