import HTTPTypes
import PipelineKit

/// The web pages that may read a server's answers: the setting `origins`.
///
/// The Fetch standard, section 3.3: CORS protocol.
package struct AllowedOrigins: Hashable, Sendable {
    /// The origins as browsers write them, such as `https://app.example.com`; `*` means all origins.
    package let names: [String]

    package init(names: [String]) { self.names = names }

    package init(_ settings: inout SettingsReader) throws(SettingsError) {
        names = try settings.strings("origins")
        for name in names where !Self.isOrigin(name) {
            throw settings.fail(
                "origins", "\(name) is not an origin",
                hint: "write it as a browser does: https://app.example.com, or *")
        }
    }

    // RFC 6454, section 6.2: scheme, "://", host and port; no path.
    private static func isOrigin(_ text: String) -> Bool {
        guard text != "*" else { return true }
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return false }
        let host = text.dropFirst(scheme.count)
        return !host.isEmpty && host.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }
    }

    /// What a page may send and read.
    package struct Permissions: Sendable {
        let methods: String
        let headers: String
        let exposedHeaders: String?

        /// - Parameters:
        ///   - methods: The methods that a page may use, separated by commas.
        ///   - headers: The request headers that a page may send, separated by commas.
        ///   - exposedHeaders: The answer headers that a page may read in addition to the CORS-safelisted ones.
        package init(methods: String, headers: String, exposedHeaders: String? = nil) {
            (self.methods, self.headers, self.exposedHeaders) = (methods, headers, exposedHeaders)
        }
    }

    /// Tells browsers which page may read an answer.
    ///
    /// - Parameters:
    ///   - answer: The answer's headers.
    ///   - request: The request's headers.
    ///   - isPreflight: Whether the request asks what the page may send.
    package func addHeaders(
        to answer: inout HTTPFields, of request: HTTPFields, _ permissions: Permissions, isPreflight: Bool = false
    ) {
        guard !names.isEmpty else { return }
        answer[.vary] = "origin"
        guard let origin = request[.origin], names.contains("*") || names.contains(origin) else { return }
        answer[.accessControlAllowOrigin] = origin
        if let exposed = permissions.exposedHeaders { answer[.accessControlExposeHeaders] = exposed }
        guard isPreflight else { return }
        answer[.accessControlAllowMethods] = permissions.methods
        answer[.accessControlAllowHeaders] = permissions.headers
        answer[.accessControlMaxAge] = "600"
    }
}
