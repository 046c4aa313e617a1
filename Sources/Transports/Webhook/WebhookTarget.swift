import Foundation
import PipelineKit

/// Where requests go and what stands in them, with the secrets read.
struct WebhookTarget: Sendable {
    let url: URL
    let headers: [(name: String, value: String)]

    init(_ settings: WebhookSettings) throws(TransportError) {
        url = try Self.url(settings)
        headers = try settings.headers.map { header throws(TransportError) in
            (header.name, try Self.value(of: header))
        }
    }

    /// Checks those of the settings' secrets that this process can read.
    static func check(_ settings: WebhookSettings) throws(TransportError) {
        if settings.url.isReadable { _ = try url(settings) }
        for header in settings.headers where header.value.isReadable { _ = try value(of: header) }
    }

    /// What the operator is told when one takes the other's place: nobody's secrets.
    func differences(from other: WebhookTarget) -> [String] {
        let isSame = headers.elementsEqual(other.headers) { $0 == $1 }
        return (url == other.url ? [] : ["posts to another url"]) + (isSame ? [] : ["sends other headers"])
    }

    private static func url(_ settings: WebhookSettings) throws(TransportError) -> URL {
        let text = try revealed(settings.url)
        do throws(Flaw) {
            return try url(text, mayBePrivate: settings.rules.allowsPrivateNetworks)
        } catch {
            throw TransportError("url, the \(settings.url): \(error.reason); \(error.hint)", isOfConfiguration: true)
        }
    }

    private static func value(of header: (name: String, value: Secret)) throws(TransportError) -> String {
        let text = try revealed(header.value)
        guard isHeaderValue(text) else {
            throw TransportError(
                "headers.\(header.name), the \(header.value): \(headerRule)", isOfConfiguration: true)
        }
        return text
    }

    private static func revealed(_ secret: Secret) throws(TransportError) -> String {
        do throws(SettingsError) { return try secret.reveal() } catch {
            throw TransportError("\(error)", isOfConfiguration: true)
        }
    }
}

// MARK: - Rules

extension WebhookTarget {
    /// What is wrong with an address, in words that do not show it.
    struct Flaw: Error {
        let reason: String
        let hint: String
    }

    static func url(_ text: String, mayBePrivate: Bool) throws(Flaw) -> URL {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            let host = url.host(), !host.isEmpty
        else {
            throw Flaw(reason: "expected an http or https URL", hint: "write one like https://example.com/pushes")
        }
        guard url.user() == nil, url.password() == nil else {
            throw Flaw(reason: "names a user", hint: "send an authorization header: see headers")
        }
        guard mayBePrivate || !isPrivate(host) else {
            throw Flaw(
                reason: "\(host) is in a private network",
                hint: "write privateNetworks: allow beside it if that is meant")
        }
        return url
    }

    /// What a name leads to is known only when it is used; numbers and `localhost` are known now.
    private static func isPrivate(_ host: String) -> Bool {
        // RFC 6761, section 6.3.
        let isLocalhost = host.lowercased().split(separator: ".").last == "localhost"
        return IPAddress(host: host).map { !$0.isPublic } ?? isLocalhost
    }

    static let headerRule = "holds more than printable ASCII"

    static func isHeaderValue(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
}
