import Access
import HTTPServer

/// Which bodies the gateway reads.
extension WebService {
    /// Bytes of the request bodies that the gateway holds at once. One client may hold a quarter, so one asset of the
    /// maximum length fits.
    static let heldBodyBytesMax = 256 << 20

    static let signInPath = "/auth/"
    /// The maximum length of the body of a sign-in, which is read before any key is checked.
    static let signInBytesMax = 16_384

    /// Whether the gateway needs the body to answer a request. For a sign-in, always. For an upload, only with a valid
    /// ticket. For any other request, only if it names a key of this gateway, or in open mode.
    func needsBody(_ head: WebRequestHead) -> Bool {
        if head.path.hasPrefix(Self.assetPath) { return tickets.allowsUpload(to: head.path, at: .wall()) }
        // The answer to a sign-in names the first mistake in the body before it says that the API token is wrong.
        if head.path.hasPrefix(Self.signInPath) { return true }
        return access.namesKey(
            AccessRequest(path: head.path, rawQuery: head.query, client: "", header: head.header))
    }
}
