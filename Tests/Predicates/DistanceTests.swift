import Testing

@testable import Predicates

struct DistanceTests {
    private static let berlin = (52.520008, 13.404954)

    @Test(arguments: [
        // Along a meridian or the equator a degree is 2πR / 360.
        (0.0, 0.0, 1.0, 0.0, 111_195.08), (0, 179.5, 0, -179.5, 111_195.08), (90, 0, -90, 123, 20_015_114.4),
        // Berlin to Paris.
        (52.520008, 13.404954, 48.856613, 2.352222, 877_464), (10, 20, 10, 20, 0),
    ])
    func `distances are measured along great circles of a sphere with the Earth's mean radius`(
        _ latitude: Double, _ longitude: Double, _ otherLatitude: Double, _ otherLongitude: Double, _ metres: Double
    ) {
        let circle = Circle(latitude: latitude, longitude: longitude, radius: 0)
        let distance = circle.distance(latitude: otherLatitude, longitude: otherLongitude)
        #expect(abs(distance - metres) <= max(0.5, metres * 2e-5), "\(distance)")
    }

    private func fields(_ latitude: Double, _ longitude: Double) -> String {
        #"{"f":{"value":{"latitude":\#(latitude),"longitude":\#(longitude)},"type":"LOCATION"}}"#
    }

    @Test(arguments: [
        "distanceToLocation:fromLocation:(f, location(52.520008, 13.404954)) < 5000",
        "distanceToLocation:fromLocation:(location(52.520008, 13.404954), f) <= 5000.0",
        "5000 > distanceToLocation:fromLocation:(f, location(52.520008, 13.404954))",
    ])
    func `only a location inside the circle is near`(_ text: String) throws {
        let near = try RecordPredicate(text: text)
        let filter = try RecordPredicate.filter(
            #"[{"comparator":"NEAR","fieldName":"f","fieldValue":{"value":{"latitude":52.520008,"longitude":13.404954},"type":"LOCATION"},"distance":5000}]"#
        )
        for predicate in [near, filter] {
            #expect(try predicate.matches(fields(52.53, 13.41)))
            #expect(try !predicate.matches(fields(52.6, 13.41)))
            for other in ["{}", #"{"f":{"value":"x"}}"#, #"{"f":{"value":{"latitude":52.5}}}"#, #"{"f":{"value":[]}}"#]
            {
                #expect(try !predicate.matches(other))
            }
        }
    }

    @Test func `the centre has a distance of exactly 0`() throws {
        let field = "distanceToLocation:fromLocation:(f, location(\(Self.berlin.0), \(Self.berlin.1)))"
        let centre = fields(Self.berlin.0, Self.berlin.1)
        #expect(try RecordPredicate(text: "\(field) <= 0").matches(centre))
        #expect(try !RecordPredicate(text: "\(field) < 0").matches(centre))
    }

    @Test func `a radius is exact to its last bit`() throws {
        let circle = Circle(latitude: Self.berlin.0, longitude: Self.berlin.1, radius: 0)
        let metres = circle.distance(latitude: 52.53, longitude: 13.41)
        let field = "distanceToLocation:fromLocation:(f, location(\(Self.berlin.0), \(Self.berlin.1)))"
        #expect(try RecordPredicate(text: "\(field) <= \(metres)").matches(fields(52.53, 13.41)))
        #expect(try !RecordPredicate(text: "\(field) < \(metres)").matches(fields(52.53, 13.41)))
        #expect(try RecordPredicate(text: "\(field) < 5000").text.hasSuffix("< 5000.0"))
        #expect(try RecordPredicate(text: "\(field) <= 5000").text.hasSuffix("<= 5000.0"))
    }
}
