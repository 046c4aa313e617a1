import Foundation
import Signing
import Time

/// Makes and checks tickets and receipts of assets. A ticket is the last part of an address at which a client sends or
/// loads a file. Tickets and receipts are signed, so the gateway need not store them.
///
/// Gateways with the same secret accept each other's tickets and receipts: see ``AssetFolder/secret()``.
struct AssetTickets: Sendable {
    private enum Purpose: UInt8 { case upload, download, receipt }

    /// How long a client may use an address.
    static let life = Duration.seconds(15 * 60)
    /// How long a client may save a file in a record after it has sent the file. Shorter than ``AssetSweep/ageMin``, so
    /// that the file is still there.
    static let receiptLife = Duration.seconds(23 * 3_600)

    private let key: [UInt8]

    init(secret: String) { key = SHA256.digest(of: "assets \(secret)") }

    /// The last part of the address to which a client sends a file.
    func uploadTicket(at now: Instant, random: UInt64 = .random(in: .min ... .max)) -> String {
        let end = now.advanced(by: Self.life).microseconds
        return "\(end)-\(String(random, radix: 36))".signed(by: { code(.upload, $0) })
    }

    func allowsUpload(to path: String, at now: Instant) -> Bool {
        path.hasPrefix(WebService.assetPath)
            && allowsUpload(String(path.dropFirst(WebService.assetPath.count)), at: now)
    }

    func allowsUpload(_ ticket: String, at now: Instant) -> Bool {
        guard let text = ticket.content(signedBy: { code(.upload, $0) }) else { return false }
        return isOpen(text, at: now)
    }

    /// The last part of the address from which a client loads a file.
    func downloadTicket(for checksum: String, at now: Instant) -> String {
        "\(now.advanced(by: Self.life).microseconds)-\(checksum)".signed(by: { code(.download, $0) })
    }

    /// The checksum of the file of a download ticket; nil if the ticket's signature is wrong or the ticket has expired.
    func checksum(ofDownload ticket: String, at now: Instant) -> String? {
        guard let text = ticket.content(signedBy: { code(.download, $0) }), isOpen(text, at: now) else { return nil }
        return text.split(separator: "-").last.map(String.init)
    }

    /// A receipt, which proves that a client has sent the file with this checksum.
    func receipt(_ checksum: String, at now: Instant) -> String {
        let end = String(now.advanced(by: Self.receiptLife).microseconds)
        return "\(end)-\(code(.receipt, "\(end)-\(checksum)"))"
    }

    /// False also after ``receiptLife``.
    func isReceipt(_ text: String, of checksum: String, at now: Instant) -> Bool {
        guard let dash = text.firstIndex(of: "-"), let end = Int64(text[..<dash]), now.microseconds <= end else {
            return false
        }
        let expected = code(.receipt, "\(text[..<dash])-\(checksum)")
        return ConstantTime.areEqual(Array(text[text.index(after: dash)...].utf8), Array(expected.utf8))
    }

    private func isOpen(_ text: String, at now: Instant) -> Bool {
        guard let end = text.split(separator: "-").first.flatMap({ Int64($0) }) else { return false }
        return now.microseconds <= end
    }

    private func code(_ purpose: Purpose, _ text: String) -> String {
        HMAC.code(of: [[purpose.rawValue], Array(text.utf8)], key: key).prefix(16)
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension String {
    fileprivate func signed(by code: (String) -> String) -> String { "\(self)-\(code(self))" }

    /// The text before the last dash; nil if the text after the dash is not the code of the text before it.
    fileprivate func content(signedBy code: (String) -> String) -> String? {
        guard let dash = lastIndex(of: "-") else { return nil }
        let text = String(self[..<dash])
        let isSigned = ConstantTime.areEqual(Array(self[index(after: dash)...].utf8), Array(code(text).utf8))
        return isSigned ? text : nil
    }
}
