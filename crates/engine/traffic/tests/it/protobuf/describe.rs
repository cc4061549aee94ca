//! Services and types as text.

use crate::protobuf::{compile, shop};

#[test]
fn services_and_methods_are_listed() {
    assert_eq!(shop().list(None).unwrap(), "shop.v1.Catalog\n");
    assert_eq!(
        shop().list(Some("shop.v1.Catalog")).unwrap(),
        "shop.v1.Catalog.Find\nshop.v1.Catalog.Watch\nshop.v1.Catalog.Import\nshop.v1.Catalog.Exchange\nshop.v1.Catalog.Load\n"
    );
    let error = shop().list(Some("shop.v1.Catalogs")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no service `shop.v1.Catalogs`; did you mean `shop.v1.Catalog`?"
    );
}

#[test]
fn a_service_is_described() {
    assert_eq!(
        shop().describe("shop.v1.Catalog").unwrap(),
        "\
shop.v1.Catalog is a service:
service Catalog {
  rpc Find ( .shop.v1.Query ) returns ( .shop.v1.Item );
  rpc Watch ( .shop.v1.Query ) returns ( stream .shop.v1.Item );
  rpc Import ( stream .shop.v1.Item ) returns ( .google.protobuf.Empty );
  rpc Exchange ( stream .shop.v1.Item ) returns ( stream .shop.v1.Item );
  rpc Load ( stream .google.protobuf.ListValue ) returns ( .google.protobuf.Empty );
}
"
    );
    for name in [
        "shop.v1.Catalog.Find",
        "shop.v1.Catalog/Find",
        "/shop.v1.Catalog/Find",
    ] {
        assert_eq!(
            shop().describe(name).unwrap(),
            "shop.v1.Catalog.Find is a method:\nrpc Find ( .shop.v1.Query ) returns ( .shop.v1.Item );\n"
        );
    }
}

#[test]
fn a_message_is_described() {
    assert_eq!(
        shop().describe(".shop.v1.Item").unwrap(),
        "\
shop.v1.Item is a message:
message Item {
  int32 id = 1;
  int64 stock = 2;
  double weight = 3;
  float rating = 4;
  bool in_stock = 5;
  string display_name = 6;
  bytes picture = 7;
  .shop.v1.Item.Size size = 8;
  repeated string tags = 9;
  repeated sint32 deltas = 10 [packed = false];
  map<string, .shop.v1.Item.Part> parts = 11;
  map<int32, string> names = 12;
  oneof price {
    .shop.v1.Money money = 13;
    string quote = 14;
  }
  .google.protobuf.Timestamp added = 15;
  .google.protobuf.Duration lead_time = 16;
  .google.protobuf.Struct extra = 17;
  .google.protobuf.Value any_value = 18;
  .google.protobuf.Any detail = 19;
  .google.protobuf.FieldMask mask = 20;
  .google.protobuf.Int64Value views = 21;
  fixed64 serial = 22 [deprecated = true];
  optional string note = 23;
  .shop.v1.Item.Part root = 24;
  message Part {
    string name = 1;
    repeated .shop.v1.Item.Part parts = 2;
  }
  enum Size {
    SIZE_UNSPECIFIED = 0;
    SIZE_SMALL = 1;
    SIZE_LARGE = 2;
  }
}
"
    );
    assert_eq!(
        shop().describe("google.protobuf.Empty").unwrap(),
        "google.protobuf.Empty is a message:\nmessage Empty {}\n"
    );
}

#[test]
fn proto2_is_described() {
    let schema = compile("legacy.proto");
    assert_eq!(
        schema.describe("legacy.Entry").unwrap(),
        r#"legacy.Entry is a message:
message Entry {
  required string account = 1;
  optional int32 amount = 2 [default = 7];
  optional string memo = 3 [default = "a \"b\""];
  repeated group Line = 4 {
    required int32 number = 1;
  }
  optional .legacy.Color color = 5 [default = CRIMSON];
  extensions 100 to 199;
  extensions 1000 to max;
  reserved 6, 8 to 9;
  reserved "old", "older";
}
"#
    );
    assert_eq!(
        schema.describe("legacy.Color").unwrap(),
        "legacy.Color is an enum:\nenum Color {\n  option allow_alias = true;\n  RED = 1;\n  CRIMSON = 1;\n}\n"
    );
}

#[test]
fn an_unknown_symbol_suggests_the_nearest() {
    let error = shop().describe("shop.v1.Itm").unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no service or type `shop.v1.Itm`; did you mean `shop.v1.Item`?"
    );
}
