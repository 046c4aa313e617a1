import Foundation
import JSON
import RecordStore

/// Assets: `assets/upload` gives an address to which the client sends the file. The answer to the upload contains the
/// value for a field.
///
/// CloudKit Web Services Reference, "Uploading Assets (assets/upload)". A record has only the file's checksum and size.
extension WebService {
    static let assetPath = "/assets/"

    func createUploadAddresses(_ request: ServiceRequest, _ session: Session) throws(ServiceError) -> ServiceAnswer {
        var body = RequestBody()
        let fields = try body.read(request.body) { json throws(ServiceError) in
            _ = try json.zone
            return try json.items("tokens") { token throws(ServiceError) in
                guard let field = try token.optionalText("fieldName") else { throw .bad("fieldName: is required") }
                guard try token.optionalText("recordType") != nil else { throw .bad("recordType: is required") }
                return (name: try token.optionalText("recordName") ?? ids.newUUID(), field: field)
            }
        }
        let root = address(of: request)
        return .object { json in
            json.append("tokens", fields) { json, field in
                json.object { json in
                    json.append("recordName", field.name)
                    json.append("fieldName", field.field)
                    json.append("url", root + Self.assetPath + tickets.uploadTicket(at: request.now))
                }
            }
        }
    }

    /// Saves or returns a file. The ticket in the address is the client's only credential.
    func saveOrReturnAsset(_ request: ServiceRequest) throws(ServiceError) -> ServiceAnswer {
        let ticket = String(request.path.dropFirst(Self.assetPath.count))
        switch request.method {
        case "POST", "PUT": return try saveAsset(request, ticket)
        case "GET", "HEAD": return try loadAsset(request, ticket)
        default: throw .wrongMethod(allowed: ["GET", "HEAD", "POST", "PUT"])
        }
    }

    private func saveAsset(_ request: ServiceRequest, _ ticket: String) throws(ServiceError) -> ServiceAnswer {
        guard tickets.allowsUpload(ticket, at: request.now) else { throw Self.closedAddress }
        guard request.body.count <= AssetFolder.bytesMax else {
            throw ServiceError(
                .quotaExceeded,
                "the asset has \(request.body.count) bytes, but an asset may have at most \(AssetFolder.bytesMax)")
        }
        let checksum = try Self.onDisk { try assets.save(request.body) }
        return .object { json in
            json.append(member: "singleFile")
            json.object { json in
                json.append("wrappingKey", "")
                json.append("fileChecksum", checksum)
                json.append("receipt", tickets.receipt(checksum, at: request.now))
                json.append("referenceChecksum", checksum)
                json.append("size", request.body.count)
            }
        }
    }

    private func loadAsset(_ request: ServiceRequest, _ ticket: String) throws(ServiceError) -> ServiceAnswer {
        guard let checksum = tickets.checksum(ofDownload: ticket, at: request.now) else { throw Self.closedAddress }
        guard let bytes = try Self.onDisk({ try assets.read(checksum) }) else {
            throw ServiceError(
                .notFound,
                "this gateway has no file for the asset: it was removed, or a gateway with another folder has it")
        }
        var answer = ServiceAnswer(body: bytes)
        answer.contentType = "application/octet-stream"
        return answer
    }

    private static let closedAddress = ServiceError(
        .accessDenied, "this service did not issue the address, or the address has expired after 15 minutes")

    private static func onDisk<Result>(_ body: () throws -> Result) throws(ServiceError) -> Result {
        do { return try body() } catch {
            throw ServiceError(.tryAgainLater, "the gateway cannot read or write the file on its disk", retryAfter: 30)
        }
    }

    /// Makes the addresses of the assets in the answer to a request.
    func assetURL(for request: ServiceRequest) -> RecordDictionaries.AssetURL {
        let root = address(of: request) + Self.assetPath
        return { [tickets] checksum in root + tickets.downloadTicket(for: checksum, at: request.now) }
    }

    /// The address that the client used for the gateway. With `behindTLS: true`, the scheme is the one in
    /// `X-Forwarded-Proto`, if the request has this header.
    func address(of request: ServiceRequest) -> String {
        let forwarded = request.header("x-forwarded-proto").first?.lowercased() ?? ""
        let isBelieved = settings.isBehindTLS && ["http", "https"].contains(forwarded)
        let scheme = isBelieved ? forwarded : scheme
        return "\(scheme)://\(request.header("host").first ?? "127.0.0.1")"
    }
}
